// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// member is a process of a relying party. It runs with the trust and the leaf that it has loaded, even if the
// objects have changed, and reports them in a record.
type member struct {
	party, leaf string
	// presents is the usage of its own leaf, verifies the usage of its peers' leaves.
	presents, verifies x509.ExtKeyUsage

	trustPEM, leafPEM string
	trusts            []*x509.Certificate
	loaded            *x509.Certificate
}

// fleet has the members of the trust domain of a story.
type fleet struct {
	namespace string
	client    kubernetes.Interface
	own       versioned.Interface
	// startedAt is when all members started.
	startedAt time.Time
	members   []*member
	// handshakes counts the checked pairs of leaf and verifier.
	handshakes int
}

func newFleet(namespace string, kube kubernetes.Interface, own versioned.Interface) *fleet {
	server, client := x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	return &fleet{namespace: namespace, client: kube, own: own, startedAt: time.Now(), members: []*member{
		{party: "server", leaf: "web-server", presents: server, verifies: client},
		{party: "client-a", leaf: "web-client-a", presents: client, verifies: server},
		{party: "client-b", leaf: "web-client-b", presents: client, verifies: server},
	}}
}

type objects struct {
	secrets        map[string]*corev1.Secret
	configMaps     map[string]*corev1.ConfigMap
	configurations map[string]*configv1alpha1.RotationConfiguration
	records        map[string]*configv1alpha1.RotationRecord
}

// step lets at most one member load one thing, trust before leaf, and report it. The other members lag behind. It
// reports whether a member has loaded something.
func (f *fleet) step(ctx context.Context, o objects) (bool, error) {
	for _, m := range f.members {
		news, err := m.load(o)
		if err != nil {
			return false, err
		}
		if news {
			return true, f.report(ctx, m)
		}
	}
	return false, nil
}

func (m *member) load(o objects) (bool, error) {
	bundle, leaf := o.configMaps["web-bundle"], o.secrets[m.leaf]
	if bundle == nil || leaf == nil {
		return false, nil
	}
	if text := bundle.Data[inventory.BundleKey]; text != m.trustPEM {
		anchors, err := certificates([]byte(text))
		if err != nil {
			return false, fmt.Errorf("%s loads its trust: %w", m.party, err)
		}
		m.trustPEM, m.trusts = text, anchors
		return true, nil
	}
	if text := string(leaf.Data[corev1.TLSCertKey]); text != m.leafPEM {
		chain, err := certificates([]byte(text))
		if err != nil {
			return false, fmt.Errorf("%s loads its leaf: %w", m.party, err)
		}
		m.leafPEM, m.loaded = text, chain[0]
		return true, nil
	}
	return false, nil
}

// report writes the evidence record of a member, like the subresource. A member is one process.
func (f *fleet) report(ctx context.Context, m *member) error {
	now := time.Now()
	o := trust.Observation{Instance: "0", Kind: trust.Acknowledgement, StartedAt: f.startedAt, ObservedAt: now, Expires: now.Add(time.Hour), ReportedBy: "member"}
	for _, anchor := range m.trusts {
		o.Trusts = append(o.Trusts, fingerprintOf(anchor))
	}
	if m.loaded != nil {
		o.Presents = append(o.Presents, fingerprintOf(m.loaded))
	}
	said, err := record.OfEvidence(f.namespace, "web", m.party, m.party, []trust.Observation{o})
	if err != nil {
		return fmt.Errorf("%s reports: %w", m.party, err)
	}
	records := f.own.ConfigV1alpha1().RotationRecords(f.namespace)
	before, err := records.Get(ctx, said.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = records.Create(ctx, said, metav1.CreateOptions{FieldManager: "member"})
	case err == nil:
		before.Spec = said.Spec
		_, err = records.Update(ctx, before, metav1.UpdateOptions{FieldManager: "member"})
	}
	if err != nil {
		return fmt.Errorf("%s reports: %w", m.party, err)
	}
	return nil
}

// verify checks the invariant: each process accepts each live leaf of the usage that it verifies, with the trust
// that it has loaded. Live leaves are those in Secrets and in processes. A process that starts now must accept
// them too.
func (f *fleet) verify(o objects) error {
	var errs []error
	verifiers := f.members
	if bundle := o.configMaps["web-bundle"]; bundle != nil {
		anchors, err := certificates([]byte(bundle.Data[inventory.BundleKey]))
		if err != nil {
			return fmt.Errorf("read web-bundle: %w", err)
		}
		for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			verifiers = append(slices.Clip(verifiers), &member{party: "a newcomer", verifies: usage, trusts: anchors})
		}
	}
	for _, holder := range f.members {
		live := map[string]*x509.Certificate{}
		if holder.loaded != nil {
			live["presented"] = holder.loaded
		}
		if secret := o.secrets[holder.leaf]; secret != nil {
			chain, err := certificates(secret.Data[corev1.TLSCertKey])
			if err != nil {
				errs = append(errs, fmt.Errorf("read %s: %w", holder.leaf, err))
				continue
			}
			live["stored"] = chain[0]
		}
		for _, verifier := range verifiers {
			if verifier.verifies != holder.presents || verifier.trusts == nil {
				continue
			}
			for where, leaf := range live {
				f.handshakes++
				if err := accepts(verifier.trusts, leaf, holder.presents); err != nil {
					errs = append(errs, fmt.Errorf("%s does not accept the %s leaf of %s: %w", verifier.party, where, holder.party, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// accepts verifies a leaf like package crypto/tls.
func accepts(anchors []*x509.Certificate, leaf *x509.Certificate, usage x509.ExtKeyUsage) error {
	roots := x509.NewCertPool()
	for _, anchor := range anchors {
		roots.AddCert(anchor)
	}
	options := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}
	if usage == x509.ExtKeyUsageServerAuth {
		options.DNSName = webServerName
	}
	_, err := leaf.Verify(options)
	return err
}

func fingerprintOf(cert *x509.Certificate) pki.Fingerprint {
	sum := sha256.Sum256(cert.Raw)
	return pki.Fingerprint(hex.EncodeToString(sum[:]))
}

func certificates(data []byte) ([]*x509.Certificate, error) {
	var out []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, cert)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no certificate")
	}
	return out, nil
}
