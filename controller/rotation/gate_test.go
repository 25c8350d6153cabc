// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// rolloutConfig is webConfig with a rollout of the aggregate.
const rolloutConfig = webConfig + `
  rollout:
    staticPod:
      name: web
      nodeSelector: {matchLabels: {role: web}}
      className: etcd
`

// TestGate: each new content of the aggregate of bundles records the latest revision, which does not have this
// content yet.
func TestGate(t *testing.T) {
	w := newWorld(t, rolloutConfig)
	if problems := w.Namespace(testNamespace).Problems; len(problems) > 0 {
		t.Fatal(problems)
	}
	c := w.controller()
	gate := func() string { return w.configMap("all-bundles").Annotations[trust.AnnotationRolloutRevision] }
	expect := func(when, want string) {
		t.Helper()
		w.settle(c)
		if got := gate(); got != want {
			t.Errorf("%s the gate is %q, want %q", when, got, want)
		}
	}
	revision := func(name string) { w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}) }
	expect("before the first revision", "")
	revision("revision-status-9")
	revision("revision-status-12")
	revision("revision-status-other")
	expect("while the bundles stay as they are", "")
	requestRotation(w)
	expect("after a rotation", "12")
	revision("revision-status-13")
	expect("after a revision for another reason", "12")
	if n := w.settle(c); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
	set := func(value string) {
		cm := w.configMap("all-bundles")
		cm.Annotations[trust.AnnotationRolloutRevision] = value
		w.put(cm)
	}
	set("3")
	expect("lowered by hand when stable", "3")
	requestRotation(w)
	expect("after a rotation", "13")
	set("99")
	requestRotation(w)
	expect("ahead of all revisions", "99")
	set("many")
	requestRotation(w)
	expect("garbled", "13")
}

// TestGateWithoutRollout: without a rollout, the annotation of another operator stays.
func TestGateWithoutRollout(t *testing.T) {
	w, c := settled(t)
	w.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "revision-status-9"}})
	cm := w.configMap("all-bundles")
	cm.Annotations[trust.AnnotationRolloutRevision] = "7"
	w.put(cm)
	requestRotation(w)
	w.settle(c)
	if got := w.configMap("all-bundles").Annotations[trust.AnnotationRolloutRevision]; got != "7" {
		t.Errorf("the gate is %q", got)
	}
}
