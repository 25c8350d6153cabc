// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"certrotation.dev/apis/config/load"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

func makeNamespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{trust.LabelManaged: trust.ManagedValue}}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// configure creates a configuration from YAML.
func configure(t *testing.T, client versioned.Interface, namespace, text string) {
	t.Helper()
	configuration, err := load.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ConfigV1alpha1().RotationConfigurations(namespace).Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func create(t *testing.T, client kubernetes.Interface, secret *corev1.Secret) {
	t.Helper()
	if _, err := client.CoreV1().Secrets(secret.Namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func newSigner(t *testing.T, namespace, name string) *pki.Pair {
	t.Helper()
	now := time.Now()
	ca, err := pki.NewAuthority(pki.Profile{
		CommonName: pki.GenerationName(namespace, name, now), Key: pki.ECDSAP256, Validity: 1000 * time.Hour, Backdate: 5 * time.Minute,
	}, now)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// consent is the annotation that permits the configuration "service" to use an object.
var consent = map[string]string{trust.AnnotationConfiguration: "service"}

func tlsSecret(t *testing.T, namespace, name string, pair *pki.Pair) *corev1.Secret {
	t.Helper()
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: consent},
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: pair.CertPEM(), corev1.TLSPrivateKeyKey: key},
	}
}
