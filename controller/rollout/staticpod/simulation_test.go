// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/property"
)

// TestSimulation draws events at any time. Members never restart at once, no restart breaks the quorum, and leaves
// restart no member. Everything converges once the events end.
func TestSimulation(t *testing.T) {
	ctx := testContext(t)
	property.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, ctx, rapid.SampledFrom([]int{1, 2, 3, 5}).Draw(rt, "nodes"))
		defer w.close()
		w.onInstall = w.checkInstall
		if !w.run(300, w.converged) {
			rt.Fatalf("not installed; status:\n%s", w.statusText())
		}
		before := w.trustChanges
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			w.misfortune(rt)
			w.run(rapid.IntRange(0, 25).Draw(rt, "seconds"), nil)
		}
		for _, m := range w.machines {
			m.kubelet, m.power, m.failures, m.bad = true, true, 0, 0
		}
		w.unreachable = false
		if !w.run(3000, w.converged) {
			rt.Fatalf("not converged; status:\n%s", w.statusText())
		}
		for _, m := range w.machines {
			if limit := w.trustChanges - before; m.restarts > limit {
				rt.Fatalf("%s restarted %d times for %d changes of trust", m.name, m.restarts, limit)
			}
		}
	})
}

func (w *world) misfortune(rt *rapid.T) {
	m := w.machines[rapid.IntRange(0, len(w.machines)-1).Draw(rt, "machine")]
	switch what := rapid.SampledFrom([]string{
		"leaves", "leaves", "trust", "trust", "kubelet stops", "power fails", "recovers", "installer fails", "crash", "crash",
		"status lost", "installer lost", "replaced", "members unreachable", "image", "mirror lost",
	}).Draw(rt, "misfortune"); what {
	case "leaves":
		w.changeLeaves()
	case "trust":
		w.changeTrust()
	case "kubelet stops":
		if w.calm() {
			m.kubelet = false
		}
	case "power fails":
		if w.calm() {
			m.power = false
		}
	case "recovers":
		m.kubelet, m.power = true, true
	case "installer fails":
		m.failures = rapid.IntRange(1, 3).Draw(rt, "failures")
	case "crash":
		w.crashAt = w.api.Writes() + rapid.IntRange(1, 6).Draw(rt, "writes")
	case "status lost":
		if w.calm() {
			w.drop("configmaps", "etcd-rollout")
		}
	case "installer lost":
		w.dropInstaller(m)
	case "replaced":
		if w.calm() && len(w.machines) > 1 {
			m.replace()
		}
	case "members unreachable":
		w.unreachable = !w.unreachable
	case "image":
		class := *w.class
		class.Image = fmt.Sprintf("certrotation:%d", w.api.Version())
		w.class = &class
	case "mirror lost":
		w.drop("pods", "etcd-"+m.name)
	}
}

// calm reports whether no restart is in progress. The controller cannot prevent what breaks between its decision
// and the effect.
func (w *world) calm() bool {
	for _, m := range w.machines {
		if m.restarting || m.power && !m.up() {
			return false
		}
	}
	list, err := w.client.CoreV1().Pods(testNamespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatalf("list pods: %v", err)
	}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Labels[labelApp] == appInstaller && !finished(pod) {
			return false
		}
	}
	return true
}

func (w *world) dropInstaller(m *machine) {
	list, err := w.client.CoreV1().Pods(testNamespace).List(w.ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Fatalf("list pods: %v", err)
	}
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Labels[labelApp] == appInstaller && pod.Spec.NodeName == m.name {
			w.drop("pods", pod.Name)
		}
	}
}

// checkInstall fails the test if, at the decision, the other members are too few without the one to restart.
func (w *world) checkInstall(pod *corev1.Pod) {
	if pod.Annotations[annotationRestarts] != "true" {
		return
	}
	up := 0
	var it *machine
	for _, m := range w.machines {
		if m.name == pod.Spec.NodeName {
			it = m
		} else if m.up() {
			up++
		}
	}
	// New leaves for a node that already restarts do not restart it again.
	restarts := !slices.Contains(pod.Spec.Containers[0].Args, "--restart-hash="+it.disk.hash)
	if needed := len(w.machines)/2 + 1; restarts && len(w.machines) >= 3 && it.up() && it.quorate() && up < needed {
		w.t.Fatalf("%s is to restart %s although only %d others are up, of %d that are needed", pod.Name, it.name, up, needed)
	}
}
