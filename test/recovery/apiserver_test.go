// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"certrotation.dev/controller/recovery"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/disktest"
)

// TestSecretsOfKubeAPIServer reads what a real kube-apiserver has stored, after updates and a deletion, from the
// data directory of its etcd.
func TestSecretsOfKubeAPIServer(t *testing.T) {
	dir := t.TempDir()
	c := cluster.ForTest(t, func(cfg *cluster.Config) { cfg.Dir = dir })
	client, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(-time.Hour)
	ca, other := disktest.Authority(t, "openshift-etcd_etcd-signer@1", end), disktest.Authority(t, "openshift-etcd_etcd-signer@0", end)
	store(t, client, ca, other, disktest.Leaf(t, ca, "etcd-client", end))

	m := &member{Node: disktest.NewNode(t, "node-0")}
	m.Install(3, 3, m.Files(ca, end))
	o := m.options()
	o.DataDirectory = filepath.Join(dir, "etcd")
	if _, err := recovery.New(t.Context(), o); !errors.Is(err, recovery.ErrRunning) {
		t.Errorf("recover while etcd runs: %v, want ErrRunning", err)
	}
	if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	plan, err := recovery.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Execute(); err != nil {
		t.Fatal(err)
	}
	// The API has a revision 9, which is not on this node's disk.
	if _, err := os.Stat(m.Generation(9, 9)); err != nil {
		t.Errorf("the recovery did not take the number of the latest revision in the API: %v", err)
	}
	secret := &corev1.Secret{}
	if err := yaml.UnmarshalStrict(read(t, o.OutputDirectory, "manifests/1-signer-etcd-signer.yaml"), secret); err != nil {
		t.Fatal(err)
	}
	again, err := pki.ParsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	if again.Certificate.PublicKeyHash != ca.Certificate.PublicKeyHash || !again.Certificate.ValidAt(time.Now()) {
		t.Errorf("the signer is %s of key %s until %s, want the key that was stored last, valid now", again.Certificate.Subject,
			again.Certificate.PublicKeyHash, again.Certificate.NotAfter)
	}
}

// store stores the signer twice, first with another key, and a Secret that it deletes again.
func store(t *testing.T, client kubernetes.Interface, ca, former, leaf *pki.Pair) {
	t.Helper()
	ctx := t.Context()
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: disktest.Namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	secrets := client.CoreV1().Secrets(disktest.Namespace)
	for name, pair := range map[string]*pki.Pair{"etcd-signer": former, "etcd-client": leaf, "gone-signer": former} {
		if _, err := secrets.Create(ctx, disktest.Secret(t, name, pair), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := secrets.Update(ctx, disktest.Secret(t, "etcd-signer", ca), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := secrets.Delete(ctx, "gone-signer", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	status := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "revision-status-9"}}
	if _, err := client.CoreV1().ConfigMaps(disktest.Namespace).Create(ctx, status, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
