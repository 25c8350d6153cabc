// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
)

const demoNamespace = "mtls-demo"

const demoConfiguration = `apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: service}
spec:
  preset:
    name: mtls-service
    mtlsService:
      clients: [a, b]
      serverAddresses: ["127.0.0.1:1"]
`

// names of the certificates of the demo.
func demoNames() []string {
	return []string{"service-client-a", "service-client-b", "service-server", "service-signer"}
}

// demo makes the objects that the controller would make: nothing rotates, so that every answer is known.
func demo(t *testing.T, s *served) {
	t.Helper()
	makeNamespace(t, s.client, demoNamespace)
	ca := newSigner(t, demoNamespace, "service-signer")
	now := time.Now()
	leaf := pki.Profile{Key: pki.ECDSAP256, Validity: 500 * time.Hour, Backdate: 5 * time.Minute}
	create(t, s.client, tlsSecret(t, demoNamespace, "service-signer", ca))
	for name, usage := range map[string]pki.Usage{
		"service-server": pki.ServerAuth, "service-client-a": pki.ClientAuth, "service-client-b": pki.ClientAuth,
	} {
		profile := leaf
		profile.CommonName, profile.Usages = name, []pki.Usage{usage}
		if usage == pki.ServerAuth {
			profile.DNSNames = []string{"localhost", "service.mtls-demo.svc"}
		}
		pair, err := ca.Issue(profile, now)
		if err != nil {
			t.Fatal(err)
		}
		create(t, s.client, tlsSecret(t, demoNamespace, name, pair))
	}
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "service-ca-bundle", Annotations: consent}, Data: map[string]string{"ca-bundle.crt": string(ca.CertPEM())}}
	if _, err := s.client.CoreV1().ConfigMaps(demoNamespace).Create(t.Context(), bundle, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	configure(t, s.own, demoNamespace, demoConfiguration)
}
