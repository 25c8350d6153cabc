// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// nodeCopies returns the nodes with their own Secret of a revision.
func (w *aggregated) nodeCopies(number int) []string {
	w.t.Helper()
	list, err := w.client.CoreV1().Secrets(testNamespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatalf("list: %v", err)
	}
	var out []string
	for _, m := range w.machines {
		if slices.ContainsFunc(list.Items, func(s corev1.Secret) bool { return s.Name == nodepod.NodeCopyName("certs", number, m.name) }) {
			out = append(out, m.name)
		}
	}
	return out
}

// TestNothingWithoutAClass: without a class, the controller reads no source, cuts no revision and creates no pod.
func TestNothingWithoutAClass(t *testing.T) {
	w := newAggregated(t, 3)
	class := w.class
	w.class = nil
	w.api.ForgetActions()
	w.run(30, nil)
	if got := w.revisions(); len(got) != 0 {
		t.Errorf("revisions %v", got)
	}
	for _, action := range w.api.Actions() {
		if action.GetResource().Resource == "secrets" {
			t.Errorf("%s secrets", action.GetVerb())
		}
	}
	if b := w.blocker("", rollout.ReasonClass); b == nil || !b.Overdue {
		t.Errorf("nothing says so:\n%s", w.statusText())
	}
	w.class = class
	w.run(30, nil)
	if got := w.revisions(); !slices.Equal(got, []int{1}) {
		t.Errorf("revisions %v with the class", got)
	}
	w.class = nil
	w.run(5, nil)
	if b := w.blocker("", rollout.ReasonClass); b == nil {
		t.Errorf("nothing says that the class is gone:\n%s", w.statusText())
	}
}

// TestPodThatTheClassDoesNotPermit: such a pod gets into no revision.
func TestPodThatTheClassDoesNotPermit(t *testing.T) {
	w := newAggregated(t, 3)
	w.run(30, nil)
	consent := map[string]string{trust.AnnotationConfiguration: "pki"}
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "etcd-pod", Annotations: consent}, Data: map[string]string{
		"pod.yaml": strings.Replace(podTemplate, "hostNetwork: true", "hostNetwork: true\n  hostPID: true", 1),
	}})
	w.run(60, nil)
	if got := w.revisions(); !slices.Equal(got, []int{1}) {
		t.Errorf("revisions %v", got)
	}
	if b := w.blocker("", rollout.ReasonSource); b == nil || !strings.Contains(b.Message, "spec.hostPID") || !strings.Contains(b.Message, "pod.privileged") {
		t.Errorf("nothing says why:\n%s", w.statusText())
	}
	w.class.Pod.Privileged = true
	w.run(60, nil)
	if got := w.revisions(); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("revisions %v once the class permits it", got)
	}
}

// TestNodeCopies: each node has its own copy. Pruning a revision deletes its copies.
func TestNodeCopies(t *testing.T) {
	w := newAggregated(t, 3)
	w.run(30, nil)
	if got := w.nodeCopies(1); !slices.Equal(got, []string{"m0", "m1", "m2"}) {
		t.Fatalf("copies of nodes %v", got)
	}
	for range 8 {
		w.issue()
		w.run(60, nil)
	}
	last := w.revisions()
	if slices.Contains(last, 2) {
		t.Fatalf("revisions %v: none was pruned", last)
	}
	if got := w.nodeCopies(2); len(got) != 0 {
		t.Errorf("copies of nodes %v are left of a revision that was pruned", got)
	}
	if got := w.nodeCopies(last[len(last)-1]); !slices.Equal(got, []string{"m0", "m1", "m2"}) {
		t.Errorf("copies of nodes %v of the latest revision", got)
	}
}

// TestReplacedCopies: a copy that was replaced is not installed.
func TestReplacedCopies(t *testing.T) {
	w := newAggregated(t, 3)
	w.run(30, nil)
	w.issue()
	if !w.run(60, func() bool {
		secret, err := w.client.CoreV1().Secrets(testNamespace).Get(w.ctx, "certs-2", metav1.GetOptions{})
		if err != nil {
			return false
		}
		secret = secret.DeepCopy()
		secret.Data["peer-m2.crt"], secret.Data["peer-m2.key"] = secret.Data["peer-m1.crt"], secret.Data["peer-m1.key"]
		w.put(secret)
		return true
	}) {
		t.Fatal("there is no revision 2")
	}
	pods := 0
	w.onInstall = func(*corev1.Pod) { pods++ }
	var failure error
	for range 30 {
		if _, err := w.controller.Reconcile(w.ctx, testNamespace); err != nil {
			failure = err
		}
		for _, m := range w.machines {
			m.tick()
		}
		w.clock.Step(time.Second)
	}
	if failure == nil || !strings.Contains(failure.Error(), "changed or replaced") || pods > 0 {
		t.Errorf("%d installers, and the error %v", pods, failure)
	}
	if c := w.condition(rollout.InstallerControllerDegraded); !c.Status {
		t.Errorf("condition %+v", c)
	}
}

// TestSecretsThatBelongOnNoNode: such Secrets get into no revision, even if the configuration names them.
func TestSecretsThatBelongOnNoNode(t *testing.T) {
	for name, tc := range map[string]struct {
		secret corev1.Secret
		want   string
	}{
		"signer":             {corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "signer"}}, "is a signer"},
		"leaf of a node":     {corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "peer-m1"}}, "is the leaf of one node"},
		"copy of a node":     {corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{nodepod.LabelRollout: "etcd"}}}, "is a copy of a revision"},
		"copy of a revision": {corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "y", OwnerReferences: []metav1.OwnerReference{{Kind: "ConfigMap", Name: "revision-status-1"}}}}, "is a copy of a revision"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAggregated(t, 3)
			w.domain.Signer = trust.Signer{Object: trust.Object{Name: "signer"}}
			for i := range w.domain.Leaves {
				w.domain.Leaves[i].Template = "peer-{node}"
			}
			w.put(&tc.secret)
			w.config.SecretNames = append(w.config.SecretNames, tc.secret.Name)
			w.run(30, nil)
			if got := w.revisions(); len(got) != 0 {
				t.Errorf("revisions %v", got)
			}
			if b := w.blocker("", rollout.ReasonSource); b == nil || !strings.Contains(b.Message, tc.want) {
				t.Errorf("nothing says why:\n%s", w.statusText())
			}
		})
	}
}
