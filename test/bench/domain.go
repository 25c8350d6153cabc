// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// Names within each namespace.
const (
	domainName = "bench"
	signerName = "bench-signer"
	bundleName = "bench-ca-bundle"
	configName = "bench"
	// Parties, in the order of the roster.
	clientParty = "clients"
	serverParty = "server"
)

// renewAtPercent is the default of the configuration.
const renewAtPercent = 80

type domain struct {
	namespace string
	key       pki.KeyAlgorithm
	leaves    []string
	now       time.Time
	// ca is nil if the controller makes it.
	ca *pki.Pair
}

func newDomain(namespace string, key pki.KeyAlgorithm, leaves int) *domain {
	d := &domain{namespace: namespace, key: key, now: time.Now()}
	for i := range leaves {
		d.leaves = append(d.leaves, fmt.Sprintf("client-%04d", i))
	}
	return d
}

// makeAuthority makes the CA that issue signs with.
func (d *domain) makeAuthority() error {
	var err error
	d.ca, err = pki.NewAuthority(pki.Profile{
		CommonName: pki.GenerationName(d.namespace, signerName, d.now), Key: d.key,
		Validity: configv1alpha1.DefaultSignerValidity, Backdate: configv1alpha1.DefaultBackdate,
	}, d.now)
	return err
}

// configuration declares the domain. Three servers verify the clients and report what they trust.
func (d *domain) configuration() *configv1alpha1.RotationConfiguration {
	policy := configv1alpha1.IssuancePolicy{Key: configv1alpha1.KeyAlgorithm(d.key)}
	declared := configv1alpha1.TrustDomain{
		Name:   domainName,
		Signer: configv1alpha1.Signer{SecretName: signerName, Policy: policy},
		Bundle: configv1alpha1.Bundle{ConfigMapName: bundleName},
		RelyingParties: []configv1alpha1.RelyingParty{
			{
				Name: serverParty, Members: servers(),
				Verifies: configv1alpha1.LeafSelection{Usages: []configv1alpha1.Usage{configv1alpha1.ClientAuth}},
				Evidence: configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceAcknowledgement},
			},
			{
				Name: clientParty, Presents: d.leaves, Verifies: configv1alpha1.LeafSelection{Nothing: true},
				Evidence: configv1alpha1.Evidence{Kind: configv1alpha1.EvidenceNone, Reason: "no client runs in a benchmark"},
			},
		},
	}
	for _, name := range d.leaves {
		declared.Leaves = append(declared.Leaves, configv1alpha1.Leaf{
			SecretName: name, CommonName: name, Usages: []configv1alpha1.Usage{configv1alpha1.ClientAuth}, Policy: policy,
		})
	}
	return &configv1alpha1.RotationConfiguration{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: configName},
		Spec:       configv1alpha1.RotationConfigurationSpec{TrustDomains: []configv1alpha1.TrustDomain{declared}},
	}
}

// roster is the roster as the controller would have written it.
func (d *domain) roster() (*configv1alpha1.RotationRecord, error) {
	r := &trust.Roster{Signers: []string{signerName}, Leaves: d.leaves, Issued: true}
	r.Members = append(r.Members, trust.RosterMember{
		Party: clientParty, Member: clientParty, Kind: trust.None, Presents: d.leaves, VerifiesNothing: true, Started: true,
	})
	for _, member := range servers() {
		r.Members = append(r.Members, trust.RosterMember{
			Party: serverParty, Member: member, Kind: trust.Acknowledgement, Verifies: d.leaves, Started: true,
		})
	}
	return record.OfRoster(d.namespace, domainName, r)
}

func servers() []string { return []string{"server-0", "server-1", "server-2"} }

// signer is the Secret of the CA, as the controller would have written it.
func (d *domain) signer() (*corev1.Secret, error) {
	policy := trust.Policy{RenewAtPercent: renewAtPercent}
	return d.secret(signerName, d.ca, trust.MetadataOfSigner(domainName, d.ca.Certificate, policy))
}

// issue makes the Secret of a leaf with a new key.
func (d *domain) issue(name string) (*corev1.Secret, error) {
	pair, err := d.ca.Issue(leafProfile(name, d.key), d.now)
	if err != nil {
		return nil, err
	}
	policy := trust.Policy{RenewAtPercent: renewAtPercent}
	secret, err := d.secret(name, pair, trust.MetadataOfLeaf(domainName, pair.Certificate, policy, d.now))
	if err != nil {
		return nil, err
	}
	secret.Data[inventory.AuthorityKey] = d.ca.CertPEM()
	return secret, nil
}

func leafProfile(name string, key pki.KeyAlgorithm) pki.Profile {
	return pki.Profile{
		CommonName: name, Usages: []pki.Usage{pki.ClientAuth}, Key: key,
		Validity: configv1alpha1.DefaultLeafValidity, Backdate: configv1alpha1.DefaultBackdate,
	}
}

func (d *domain) secret(name string, pair *pki.Pair, meta trust.Metadata) (*corev1.Secret, error) {
	key, err := pair.KeyPEM()
	if err != nil {
		return nil, fmt.Errorf("encode the key of %s/%s: %w", d.namespace, name, err)
	}
	meta.Annotations[trust.AnnotationConfiguration] = configName
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name, Annotations: meta.Annotations, Labels: meta.Labels},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{inventory.ActiveCertKey: pair.CertPEM(), inventory.ActiveKeyKey: key},
	}, nil
}

func (d *domain) bundle() *corev1.ConfigMap {
	anchors := []*pki.Certificate{d.ca.Certificate}
	meta := trust.MetadataOfBundle(domainName, anchors, nil, d.now)
	meta.Annotations[trust.AnnotationConfiguration] = configName
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: bundleName, Annotations: meta.Annotations, Labels: meta.Labels},
		Data:       map[string]string{inventory.BundleKey: string(pki.EncodeCertificates(anchors...))},
	}
}
