// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster/installation"
)

// plain is a static pod that its class permits.
const plain = `apiVersion: v1
kind: Pod
metadata: {name: store}
spec:
  containers:
  - name: store
    image: example.com/store:1
    volumeMounts: [{name: revision, mountPath: /run/revision, readOnly: true}]
  volumes:
  - {name: revision, hostPath: {path: /etc/kubernetes/static-pod-resources/store-pod-REVISION}}
`

// rolledOut is a namespace with a rollout to two nodes.
type rolledOut struct {
	namespace string
	kubelets  []*tenant
}

// roll makes two nodes, a class that permits the pod plain, and a rollout of a pod to the nodes.
func (w *world) roll(t *testing.T, pod string) *rolledOut {
	t.Helper()
	n := &rolledOut{namespace: w.namespace(t, true)}
	label := "example.com/" + n.namespace
	for i, name := range []string{n.namespace + "-x", n.namespace + "-y"} {
		kubelet := w.node(t, name, label)
		kubelet.addressed(t, fmt.Sprintf("10.2.%d.%d", w.namespaces, i+1))
		n.kubelets = append(n.kubelets, kubelet)
	}
	class := &configv1alpha1.StaticPodClass{
		ObjectMeta: metav1.ObjectMeta{Name: n.namespace},
		Spec: configv1alpha1.StaticPodClassSpec{
			Namespaces: []string{n.namespace}, PodName: "store", Image: "example.com/certrotation@sha256:" + strings.Repeat("0", 64),
			Pod: configv1alpha1.PermittedPod{Images: []string{"example.com/store:1"}},
		},
	}
	if _, err := w.own.ConfigV1alpha1().StaticPodClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"certrotation-rollout-pods", "certrotation-rollout-cleanup"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: installation.Namespace, Name: "certrotation-controller"}},
		}
		if _, err := w.admin.RbacV1().RoleBindings(n.namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The attacker may write ConfigMaps and configurations of the namespace.
	tenant := w.tenant(t, n.namespace, "tenant", configure(), may("", []string{"configmaps"}, "get", "list", "create", "update"))
	template := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "store-pod", Annotations: map[string]string{trust.AnnotationConfiguration: "pki"}},
		Data:       map[string]string{configv1alpha1.PodKey: strings.Replace(pod, "{name: store}", "{name: store, namespace: "+n.namespace+"}", 1)},
	}
	if _, err := tenant.kube.CoreV1().ConfigMaps(n.namespace).Create(t.Context(), template, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	configureAs(t, tenant.own, n.namespace, fmt.Sprintf(`apiVersion: config.certrotation.dev/v1alpha1
kind: RotationConfiguration
metadata: {name: pki}
spec:
  trustDomains:
  - name: pki
    signer: {secretName: pki-signer}
    bundle: {configMapName: pki-ca-bundle}
    leaves:
    - {secretName: "server-{node}", usages: [ServerAuth], forEachNode: {matchLabels: {%[1]q: ""}}, nodeAddresses: true}
    relyingParties:
    - {name: nobody, presents: ["server-{node}"], forEachNode: {matchLabels: {%[1]q: ""}}, evidence: {kind: none, reason: no process runs in this test}}
  aggregate:
    secretName: all-keys
    leaves: ["server-{node}"]
    configMapName: all-bundles
    bundles: [{key: ca.crt, configMapName: pki-ca-bundle}]
  rollout:
    staticPod: {name: store, className: %[2]s, nodeSelector: {matchLabels: {%[1]q: ""}}}
`, label, n.namespace))
	return n
}

// installers are the pods that write to the nodes of a namespace.
func (w *world) installers(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	pods, err := w.admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pods.Items, nil
}

// attackNode tries to bring pods to the nodes that the owner of the nodes has not permitted.
func attackNode(t *testing.T, w *world) string {
	for what, pod := range map[string]string{
		"a privileged container":    strings.Replace(plain, "    image: example.com/store:1\n", "    image: example.com/store:1\n    securityContext: {privileged: true}\n", 1),
		"the disk of the node":      plain + "  - {name: root, hostPath: {path: /}}\n",
		"an image of its own":       strings.Replace(plain, "example.com/store:1", "example.com/attacker:1", 1),
		"the processes of the node": strings.Replace(plain, "spec:\n", "spec:\n  hostPID: true\n", 1),
	} {
		n := w.roll(t, pod)
		achieved := ""
		eventually(t, "certrotation meets the pod with "+what, func(ctx context.Context) error {
			pods, err := w.installers(ctx, n.namespace)
			if err != nil {
				return err
			}
			if len(pods) > 0 {
				achieved = fmt.Sprintf("%s runs on %s to install a pod with %s", pods[0].Name, pods[0].Spec.NodeName, what)
				return nil
			}
			status, err := w.admin.CoreV1().ConfigMaps(n.namespace).Get(ctx, "store-rollout", metav1.GetOptions{})
			if err != nil {
				return err
			}
			// The refusal must name a field of the pod: another obstacle would prove nothing.
			for _, text := range status.Data {
				if strings.Contains(text, "spec.") && strings.Contains(text, "Class") {
					return nil
				}
			}
			return fmt.Errorf("nothing says why: %v", status.Data)
		})
		if achieved != "" {
			return achieved
		}
	}
	return ""
}

// attackNodeKeys reads every Secret of a namespace with each kubelet's credentials, after an installer runs on a
// node.
func attackNodeKeys(t *testing.T, w *world) string {
	n := w.roll(t, plain)
	on := ""
	eventually(t, "an installer on a node", func(ctx context.Context) error {
		pods, err := w.installers(ctx, n.namespace)
		if err != nil {
			return err
		}
		if len(pods) == 0 {
			return errors.New("there is none")
		}
		on = pods[0].Spec.NodeName
		return nil
	})
	secrets, err := w.admin.CoreV1().Secrets(n.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kubelet := range n.kubelets {
		own := w.secret(t, n.namespace, "server-"+kubelet.name)
		read := 0
		for i := range secrets.Items {
			secret, err := kubelet.kube.CoreV1().Secrets(n.namespace).Get(t.Context(), secrets.Items[i].Name, metav1.GetOptions{})
			if err != nil {
				continue
			}
			read++
			for key, value := range secret.Data {
				if strings.HasSuffix(key, ".key") && !bytes.Equal(value, own.Data[corev1.TLSPrivateKeyKey]) {
					return fmt.Sprintf("%s reads %s of %s", kubelet.name, key, secret.Name)
				}
			}
		}
		if kubelet.name == on && read == 0 {
			t.Fatalf("the kubelet of %s cannot read the Secret of its own pod: the attack shows nothing", on)
		}
	}
	return ""
}
