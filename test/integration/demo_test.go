// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
)

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

// demoNames are the certificates of the demo.
func demoNames() []string {
	return []string{"service-client-a", "service-client-b", "service-server", "service-signer"}
}

// demo is the PKI of the sample mtls-service in a namespace.
type demo struct {
	*plane

	namespace string
}

// newDemo makes the objects that the controller would make. Nothing rotates, so that every answer is known.
func newDemo(t *testing.T, namespace string) *demo {
	t.Helper()
	d := &demo{plane: restingPlane.use(t), namespace: namespace}
	makeNamespace(t, d.client, namespace)
	ca := newSigner(t, namespace, "service-signer")
	now := time.Now()
	leaf := pki.Profile{Key: pki.ECDSAP256, Validity: 500 * time.Hour, Backdate: 5 * time.Minute}
	create(t, d.client, tlsSecret(t, namespace, "service-signer", ca))
	for name, usage := range map[string]pki.Usage{
		"service-server": pki.ServerAuth, "service-client-a": pki.ClientAuth, "service-client-b": pki.ClientAuth,
	} {
		profile := leaf
		profile.CommonName, profile.Usages = name, []pki.Usage{usage}
		if usage == pki.ServerAuth {
			profile.DNSNames = []string{"localhost", "service." + namespace + ".svc"}
		}
		pair, err := ca.Issue(profile, now)
		if err != nil {
			t.Fatal(err)
		}
		create(t, d.client, tlsSecret(t, namespace, name, pair))
	}
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "service-ca-bundle", Annotations: consent}, Data: map[string]string{"ca-bundle.crt": string(ca.CertPEM())}}
	if _, err := d.client.CoreV1().ConfigMaps(namespace).Create(t.Context(), bundle, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	configure(t, d.own, namespace, demoConfiguration)
	return d
}

// records returns the specs of the demo's RotationRecords by name.
func (d *demo) records(t *testing.T) map[string]configv1alpha1.RotationRecordSpec {
	t.Helper()
	list, err := d.own.ConfigV1alpha1().RotationRecords(d.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]configv1alpha1.RotationRecordSpec{}
	for i := range list.Items {
		out[list.Items[i].Name] = list.Items[i].Spec
	}
	return out
}
