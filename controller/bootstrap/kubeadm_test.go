// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/kubeadm"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// kubeadmCA is an authority as kubeadm stores it in /etc/kubernetes/pki/etcd, in the Secret that `kubectl create
// secret tls` makes.
func kubeadmCA(t *testing.T) *corev1.Secret {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd-ca"}, DNSNames: []string{"etcd-ca"},
		NotBefore: testNow().Add(-time.Hour), NotAfter: testNow().AddDate(10, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageKeyEncipherment | x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Type: corev1.SecretTypeTLS,
		ObjectMeta: metav1.ObjectMeta{Name: "etcd-ca", Namespace: "kube-system", Annotations: map[string]string{trust.AnnotationConfiguration: "etcd"}},
		Data: map[string][]byte{
			corev1.TLSCertKey:       pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
			corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		},
	}
}

// TestKubeadmAdoption runs the controllers on the objects of docs/kubeadm.md. The CA of kubeadm keeps signing,
// each node gets leaves of it, and one revision has the manifests of both static pods.
func TestKubeadmAdoption(t *testing.T) {
	var data []byte
	add := func(object any) {
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		data = append(append(data, text...), "\n---\n"...)
	}
	read := func(elements ...string) []byte {
		text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, elements...)...))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	adoption, err := kubeadm.Adopt(kubeadm.Manifests{
		Etcd: read("registry", "kubeadm", "testdata", "etcd.yaml"), APIServer: read("registry", "kubeadm", "testdata", "kube-apiserver.yaml"),
	}, "etcd", "certrotation@sha256:0000000000000000000000000000000000000000000000000000000000000000")
	if err != nil {
		t.Fatal(err)
	}
	ca := kubeadmCA(t)
	add(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{
		Name: "kube-system", Labels: map[string]string{"certrotation.dev/managed": "true"},
	}})
	add(ca)
	add(adoption.Class)
	add(adoption.Templates)
	for name, address := range map[string]string{"master-0": "10.0.0.5", "master-1": "10.0.0.6"} {
		add(&corev1.Node{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
		})
	}
	data = append(data, read("manifests", "samples", "kubeadm-etcd", "configuration.yaml")...)
	result := rendered(t, data)
	if got, want := string(result.TLS["etcd-ca-bundle.crt"]), string(ca.Data[corev1.TLSCertKey]); got != want {
		t.Errorf("the bundle is not the CA of kubeadm:\n%s", got)
	}
	signer, err := pki.ParseBundle(ca.Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Nodes) != 2 {
		t.Fatalf("%d nodes", len(result.Nodes))
	}
	for i := range result.Nodes {
		n := &result.Nodes[i]
		leaves := n.Content.Secrets[configv1alpha1.KubeadmCertsSecret]
		if len(leaves) != 6 || n.ManifestFile != "etcd.yaml" || len(n.Companions) != 1 || len(n.Content.Companions) != 1 {
			t.Errorf("node %s has %d files of leaves, the manifest %s, companions %v", n.Name, len(leaves), n.ManifestFile, n.Companions)
		}
		for _, leaf := range []string{"etcd-server-", "etcd-peer-", "apiserver-etcd-client-"} {
			pair, err := pki.ParsePair(leaves[leaf+n.Name+".crt"], leaves[leaf+n.Name+".key"])
			if err != nil || !pair.Certificate.SignedBy(signer[0]) {
				t.Errorf("%s of node %s is not signed by the CA of kubeadm: %v", leaf, n.Name, err)
			}
		}
	}
}
