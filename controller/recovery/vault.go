// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// vault holds the Secrets that a recovery may use: the keys of the signers, and the leaves that are not on this node.
type vault struct {
	namespace string
	// signers are sorted by name. pairs are their keys by certificate.
	signers []nodepod.Signer
	pairs   map[pki.Fingerprint]*pki.Pair
	// secrets by name.
	secrets map[string]*corev1.Secret
	// bundles are the ConfigMaps with trust anchors.
	bundles []*corev1.ConfigMap
	// resigned are the re-signed CAs, by the certificate that they replace.
	resigned map[pki.Fingerprint]*pki.Pair
}

// newVault sorts Secrets. The last one of a name counts. An unreadable signer is an error, because without it its key
// would seem lost.
func newVault(namespace string, secrets []*corev1.Secret) (*vault, error) {
	v := &vault{
		namespace: namespace, pairs: map[pki.Fingerprint]*pki.Pair{}, secrets: map[string]*corev1.Secret{}, resigned: map[pki.Fingerprint]*pki.Pair{},
	}
	for _, secret := range secrets {
		if secret.Namespace == namespace || secret.Namespace == "" {
			v.secrets[secret.Name] = secret
		}
	}
	for name, secret := range v.secrets {
		if !inventory.HoldsAuthority(secret.Data) {
			continue
		}
		pairs, err := inventory.SignerPairs(secret.Data)
		if err != nil {
			return nil, fmt.Errorf("read signer %s/%s: %w", namespace, name, err)
		}
		signer := nodepod.Signer{Name: name}
		for _, pair := range pairs {
			v.pairs[pair.Certificate.Fingerprint] = pair
			signer.Authorities = append(signer.Authorities, pair.Certificate)
		}
		v.signers = append(v.signers, signer)
	}
	slices.SortFunc(v.signers, func(a, b nodepod.Signer) int { return strings.Compare(a.Name, b.Name) })
	return v, nil
}

func (v *vault) resign(plan []nodepod.Resign, now time.Time) error {
	for _, r := range plan {
		pair, err := v.pairs[r.Certificate.Fingerprint].Resign(now)
		if err != nil {
			return fmt.Errorf("signer %s/%s: %w", v.namespace, r.Secret, err)
		}
		v.resigned[r.Certificate.Fingerprint] = pair
	}
	return nil
}

// signing returns the pair that signs for a CA.
func (v *vault) signing(ca *pki.Certificate) *pki.Pair {
	if pair, ok := v.resigned[ca.Fingerprint]; ok {
		return pair
	}
	return v.pairs[ca.Fingerprint]
}

// consent returns the consent annotation for a Secret; without it, the controller does not use the recovered Secret.
// It is the annotation of the stored Secret or, if that is unknown, the signers' annotation if they agree.
func (v *vault) consent(name string) map[string]string {
	if secret := v.secrets[name]; secret != nil {
		return consentOf(secret)
	}
	var agreed map[string]string
	for _, signer := range v.signers {
		consent := consentOf(v.secrets[signer.Name])
		if agreed != nil && agreed[trust.AnnotationConfiguration] != consent[trust.AnnotationConfiguration] {
			return nil
		}
		agreed = consent
	}
	return agreed
}

func consentOf(object metav1.Object) map[string]string {
	configuration, ok := object.GetAnnotations()[trust.AnnotationConfiguration]
	if !ok {
		return nil
	}
	return map[string]string{trust.AnnotationConfiguration: configuration}
}
