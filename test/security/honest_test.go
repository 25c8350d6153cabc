// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// honestConfiguration is a PKI in which a client and a server report what they have loaded.
const honestConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: pki}
spec:
  trustDomains:
  - name: pki
    signer: {secretName: pki-signer}
    bundle: {configMapName: pki-ca-bundle}
    leaves:
    - {secretName: pki-server, usages: [ServerAuth], dnsNames: [pki.example]}
    relyingParties:
    - {name: p, evidence: {kind: acknowledgement}}
    - {name: q, evidence: {kind: acknowledgement}}
    - {name: server, verifies: {nothing: true}, presents: [pki-server], evidence: {kind: none, reason: no process runs in this test}}
`

// configureAs creates a configuration with a client's account.
func configureAs(t *testing.T, client versioned.Interface, namespace, text string) {
	t.Helper()
	configuration, err := load.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ConfigV1alpha1().RotationConfigurations(namespace).Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create the configuration: %v", err)
	}
}

// honest makes a managed namespace with a PKI and waits until the PKI is complete.
func (w *world) honest(t *testing.T) string {
	t.Helper()
	namespace := w.namespace(t, true)
	w.complete(t, namespace, honestConfiguration)
	return namespace
}

// complete makes the PKI of a configuration and waits until it is complete.
func (w *world) complete(t *testing.T, namespace, configuration string) {
	t.Helper()
	configureAs(t, w.own, namespace, configuration)
	eventually(t, "the PKI of an honest namespace", func(ctx context.Context) error {
		if _, err := w.admin.CoreV1().Secrets(namespace).Get(ctx, "pki-server", metav1.GetOptions{}); err != nil {
			return err
		}
		if _, err := w.own.CertrotationV1alpha1().CertificateRotations(namespace).Get(ctx, "pki-server", metav1.GetOptions{}); err != nil {
			return err
		}
		return w.accepted(ctx, namespace, "pki")
	})
}

// accepted returns an error unless a configuration is Ready.
func (w *world) accepted(ctx context.Context, namespace, name string) error {
	got, err := w.own.ConfigV1alpha1().RotationConfigurations(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(got.Status.Conditions, configv1alpha1.ConditionReady) {
		return fmt.Errorf("%s/%s is not Ready: %+v", namespace, name, got.Status)
	}
	return nil
}

// unadopted returns nil once the status tells that an object does not consent to the configuration that names it.
func (w *world) unadopted(ctx context.Context, namespace, object string) error {
	got, err := w.own.ConfigV1alpha1().RotationConfigurations(namespace).Get(ctx, "pki", metav1.GetOptions{})
	if err != nil {
		return err
	}
	c := meta.FindStatusCondition(got.Status.Conditions, configv1alpha1.ConditionReady)
	if c == nil || c.Reason != string(trust.ReasonNotAdopted) || !strings.Contains(c.Message, object) {
		return fmt.Errorf("%s/pki does not say that %s was not adopted: %+v", namespace, object, got.Status)
	}
	return nil
}

// authority makes a CA that is unknown to certrotation.
func authority(t *testing.T, name string) *pki.Pair {
	t.Helper()
	now := time.Now()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: name, Key: pki.ECDSAP256, Validity: 1000 * time.Hour, Backdate: 5 * time.Minute}, now)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// keep stores a pair as another program does, without any annotation of certrotation.
func (w *world) keep(t *testing.T, namespace, name string, pair *pki.Pair) *corev1.Secret {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := w.admin.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: pair.CertPEM(), corev1.TLSPrivateKeyKey: key},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// secret returns a Secret as administrator, nil if it does not exist.
func (w *world) secret(t *testing.T, namespace, name string) *corev1.Secret {
	t.Helper()
	list, err := w.admin.CoreV1().Secrets(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

func signedBy(t *testing.T, secret *corev1.Secret, ca *pki.Pair) bool {
	t.Helper()
	certificates, err := pki.ParseChain(secret.Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	return certificates[0].SignedBy(ca.Certificate)
}

// accepts returns the annotation by which a namespace accepts copies.
func accepts(entries string) []string { return []string{trust.CopiesFrom, entries} }
