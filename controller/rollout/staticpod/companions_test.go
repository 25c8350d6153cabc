// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
)

const (
	companion         = "kube-apiserver"
	companionTemplate = `
apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver, namespace: openshift-etcd}
spec:
  containers:
  - name: kube-apiserver
    image: kube-apiserver
    volumeMounts: [{name: resources, mountPath: /etc/kubernetes/static-pod-resources, readOnly: true}]
  volumes:
  - name: resources
    hostPath: {path: /etc/kubernetes/static-pod-resources/etcd-pod-REVISION}
`
)

// accompanied is a world whose nodes have a second static pod, before anything is installed.
func accompanied(t *testing.T, nodes int) *world {
	t.Helper()
	w := newWorld(t, testContext(t), nodes)
	t.Cleanup(w.close)
	w.config.Companions = []string{companion}
	w.class.ManifestFile = "etcd.yaml"
	w.class.Companions = []configv1alpha1.PermittedCompanion{{
		PodName: companion, ManifestFile: companion + ".yaml", Pod: configv1alpha1.PermittedPod{Images: []string{companion}},
	}}
	w.put(&corev1.ConfigMap{ObjectMeta: consenting("etcd-pod"), Data: map[string]string{"pod.yaml": podTemplate, companion + ".yaml": companionTemplate}})
	return w
}

// TestRestartsTheStaticPodsOfANodeTogether: a companion takes longer than its static pod to become ready. The
// machines fail the test if one restarts while the companion of another is not ready.
func TestRestartsTheStaticPodsOfANodeTogether(t *testing.T) {
	w := accompanied(t, 3)
	var args []string
	w.onInstall = func(pod *corev1.Pod) { args = pod.Spec.Containers[0].Args }
	w.wantConverged(300)
	w.changeTrust()
	w.wantConverged(300)
	w.changeLeaves()
	w.wantConverged(300)
	if got := w.restarts(); !slices.Equal(got, []int{1, 1, 1}) {
		t.Errorf("restarts %v, want one each", got)
	}
	for _, want := range []string{
		"--manifest-file=etcd.yaml", "--companion=kube-apiserver=kube-apiserver.yaml", `--permit-companion=kube-apiserver={"images":["kube-apiserver"]}`,
	} {
		if !slices.Contains(args, want) {
			t.Errorf("the installer is not told %s: %v", want, args)
		}
	}
	copied, err := w.client.CoreV1().ConfigMaps(testNamespace).Get(w.ctx, nodepod.CopyName("etcd-pod", 1), metav1.GetOptions{})
	if err != nil || copied.Data[companion+".yaml"] != companionTemplate {
		t.Errorf("the copy of revision 1 has not the template of the companion: %v, %v", copied, err)
	}
}

// TestCompanionOfSomebodyElse: an overwritten companion is shown, and the next revision repairs it when it reaches
// the node.
func TestCompanionOfSomebodyElse(t *testing.T) {
	w := accompanied(t, 3)
	w.wantConverged(300)
	w.machines[1].companionsRun = "none of ours"
	w.run(5, nil)
	if b := w.blocker("m1", rollout.ReasonRolledBack); b == nil || !strings.Contains(b.Message, "kube-apiserver of revision") {
		t.Errorf("nothing says so:\n%s", w.statusText())
	}
	w.changeLeaves()
	w.wantConverged(300)
	if got := w.restarts(); !slices.Equal(got, []int{0, 1, 0}) {
		t.Errorf("restarts %v, want one of the node that had to be put right", got)
	}
}

// TestBadTemplateOfACompanion: a bad template gets into no revision.
func TestBadTemplateOfACompanion(t *testing.T) {
	for name, tc := range map[string]struct {
		data map[string]string
		want string
	}{
		"none":                {map[string]string{"pod.yaml": podTemplate}, "has no key kube-apiserver.yaml"},
		"of another name":     {map[string]string{"pod.yaml": podTemplate, companion + ".yaml": strings.Replace(companionTemplate, "{name: kube-apiserver,", "{name: x,", 1)}, "the pod is openshift-etcd/x, want openshift-etcd/kube-apiserver"},
		"another image":       {map[string]string{"pod.yaml": podTemplate, companion + ".yaml": strings.Replace(companionTemplate, "image: kube-apiserver", "image: etcd", 1)}, "spec.containers[0].image"},
		"the network of etcd": {map[string]string{"pod.yaml": podTemplate, companion + ".yaml": strings.Replace(companionTemplate, "spec:", "spec:\n  hostNetwork: true", 1)}, "spec.hostNetwork"},
	} {
		t.Run(name, func(t *testing.T) {
			w := accompanied(t, 1)
			w.put(&corev1.ConfigMap{ObjectMeta: consenting("etcd-pod"), Data: tc.data})
			w.run(20, nil)
			if got := w.revisions(); len(got) > 0 {
				t.Errorf("revisions %v", got)
			}
			if b := w.blocker("", rollout.ReasonSource); b == nil || !strings.Contains(b.Message, tc.want) {
				t.Errorf("nothing says %q:\n%s", tc.want, w.statusText())
			}
		})
	}
}
