// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"certrotation.dev/registry/pki"
)

// node makes a Node, and returns the client of its kubelet.
func (w *world) node(t *testing.T, name, label string) *tenant {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: ""}}}
	if _, err := w.admin.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.admin.CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	config, err := w.Cluster.UserConfig("system:node:"+name, "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	return newTenant(t, name, config)
}

// addressed makes a kubelet write that its node is ready, and its addresses. Other clients write to the node too.
func (k *tenant) addressed(t *testing.T, addresses ...string) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := k.kube.CoreV1().Nodes().Get(t.Context(), k.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, address := range addresses {
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
		_, err = k.kube.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("the kubelet of %s cannot write its status: %v", k.name, err)
	}
}

// attackAddress makes the kubelet of one node report the address of another one.
func attackAddress(t *testing.T, w *world) string {
	namespace := w.namespace(t, true)
	label := "example.com/" + namespace
	victim, thief := w.node(t, namespace+"-victim", label), w.node(t, namespace+"-thief", label)
	victim.addressed(t, "10.1.0.1")
	configureAs(t, w.own, namespace, fmt.Sprintf(`apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: pki}
spec:
  nodeCIDRs: [10.1.0.0/24]
  trustDomains:
  - name: pki
    signer: {secretName: pki-signer}
    bundle: {configMapName: pki-ca-bundle}
    leaves:
    - {secretName: "server-{node}", usages: [ServerAuth], forEachNode: {matchLabels: {%[1]q: ""}}, nodeAddresses: true}
    relyingParties:
    - {name: nobody, presents: ["server-{node}"], forEachNode: {matchLabels: {%[1]q: ""}}, evidence: {kind: none, reason: no process runs in this test}}
`, label))
	eventually(t, "the leaf of the victim", func(ctx context.Context) error {
		_, err := w.admin.CoreV1().Secrets(namespace).Get(ctx, "server-"+victim.name, metav1.GetOptions{})
		return err
	})
	thief.addressed(t, "10.1.0.1", "127.0.0.1", "169.254.169.254", "10.9.9.9")
	w.honest(t)
	leaf := w.secret(t, namespace, "server-"+thief.name)
	if leaf == nil {
		return ""
	}
	chain, err := pki.ParseChain(leaf.Data[corev1.TLSCertKey])
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range chain[0].IPAddresses {
		if slices.Contains([]string{"10.1.0.1", "127.0.0.1", "169.254.169.254", "10.9.9.9"}, address) {
			return "a certificate of the thief carries " + address
		}
	}
	return ""
}
