// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

const (
	bundleKey     = "ca-bundle.crt"
	configuration = "web"
)

var (
	made    = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	started = made.Add(time.Hour)
)

func asked() *MountRequirement {
	return &MountRequirement{Mounts: trust.Mounts{Trust: "trust", TrustKey: bundleKey, Leaves: []string{"tls"}}, Configuration: configuration}
}

// world is a pod that mounts a bundle and a leaf, both named by their content.
type world struct {
	ca, leaf *pki.Certificate
	bundle   *corev1.ConfigMap
	secret   *corev1.Secret
	pod      *corev1.Pod
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, made)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Issue(pki.Profile{CommonName: "leaf", Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: time.Hour}, made)
	if err != nil {
		t.Fatal(err)
	}
	key, err := leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{ca: ca.Certificate, leaf: leaf.Certificate}
	w.bundle = &corev1.ConfigMap{ObjectMeta: consenting(), Immutable: new(true), Data: map[string]string{bundleKey: string(ca.Certificate.PEM())}}
	w.secret = &corev1.Secret{ObjectMeta: consenting(), Immutable: new(true), Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		corev1.TLSCertKey: leaf.CertPEM(), corev1.TLSPrivateKeyKey: key,
	}}
	w.name()
	w.pod = podOf(w.bundle.Name, w.secret.Name)
	return w
}

// name renames the objects after their content.
func (w *world) name() {
	w.bundle.Name = "bundle-" + contenthash.OfConfigMap(w.bundle)[:leastHash]
	w.secret.Name = "leaf-" + contenthash.OfSecret(w.secret)[:12]
}

func consenting() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "demo", CreationTimestamp: metav1.NewTime(made), Annotations: map[string]string{trust.AnnotationConfiguration: configuration},
	}
}

func podOf(bundle, leaf string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(started)},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "web", VolumeMounts: []corev1.VolumeMount{{Name: "trust", MountPath: "/trust"}, {Name: "tls", MountPath: "/tls"}}}},
			Volumes: []corev1.Volume{
				{Name: "trust", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: bundle}}}},
				{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: leaf}}},
			},
		},
	}
}
