// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/test/knownissues"
)

// wayOut is a state of a rollout that needs a person.
type wayOut struct {
	// begin creates the state from a converged rollout, node is the one that the blocker names, if any.
	begin func(*world)
	node  string
	// person does what the page says.
	person func(*world)
}

// byThemselves are the reasons that need no person, or that another test walks.
var byThemselves = map[rollout.Reason]string{
	rollout.ReasonSourceChanging:   "the next revision is cut: TestChangesThatComeTogether",
	rollout.ReasonResourcesMissing: "the leaf is issued: TestNodeWhoseLeavesAreNotInTheRevision; the address of a node: TestWaysOut of controller/rotation",
	rollout.ReasonNotRejoined:      "the member comes back: TestRejoined of registry/quorum",
}

// TestWaysOut tests each row of the table "A rollout waits" in docs/known-issues.md: the state lasts without a person,
// and ends after what a person does.
func TestWaysOut(t *testing.T) {
	ways := waysOut()
	knownissues.Check(t, knownissues.Reasons(t, "A rollout waits"), ways, byThemselves)
	for reason, way := range ways {
		t.Run(string(reason), func(t *testing.T) {
			w := installed(t, 3)
			way.begin(w)
			if w.run(500, nil); w.blocker(way.node, reason) == nil || w.converged() {
				t.Fatalf("it does not come about, or ends alone; status:\n%s", w.statusText())
			}
			way.person(w)
			w.wantConverged(900)
		})
	}
}

func waysOut() map[rollout.Reason]wayOut {
	var class *configv1alpha1.StaticPodClassSpec
	var before disk
	power := func(on bool, nodes ...int) func(*world) {
		return func(w *world) {
			for _, i := range nodes {
				w.machines[i].power = on
			}
			if !on {
				w.changeTrust()
			}
		}
	}
	return map[rollout.Reason]wayOut{
		rollout.ReasonClass: {
			begin:  func(w *world) { class, w.class = w.class, nil },
			person: func(w *world) { w.class = class },
		},
		rollout.ReasonSource: {
			begin:  func(w *world) { w.drop("configmaps", "bundles") },
			person: (*world).changeTrust,
		},
		rollout.ReasonNodeNotReady: {begin: power(false, 1), node: "m1", person: power(true, 1)},
		rollout.ReasonQuorum:       {begin: power(false, 1, 2), person: power(true, 1, 2)},
		rollout.ReasonDegraded: {
			begin: func(w *world) {
				w.changeTrust()
				w.run(300, func() bool { return w.restarts()[0] == 1 && w.machines[0].ready() })
				w.machines[0].kubelet = false
			}, node: "m2",
			person: func(w *world) { w.machines[0].kubelet = true },
		},
		rollout.ReasonInstallerPending: {
			begin: func(w *world) {
				w.machines[0].kubelet = false
				w.run(2, nil)
				w.changeLeaves()
			}, node: "m0",
			person: func(w *world) { w.machines[0].kubelet = true },
		},
		rollout.ReasonInstallerFailed: {
			begin: func(w *world) {
				w.machines[0].failures = 1000
				w.changeLeaves()
			}, node: "m0",
			person: func(w *world) { w.machines[0].failures = 0 },
		},
		rollout.ReasonStaticPodPending: {
			begin: func(w *world) {
				w.changeTrust()
				w.machines[0].bad = w.trustChanges
			}, node: "m0",
			person: (*world).changeTrust,
		},
		rollout.ReasonMissingStaticPod: {
			begin: func(w *world) {
				before = w.machines[0].disk
				w.machines[0].disk.hash, w.machines[0].runs = "", ""
				w.drop("pods", "etcd-m0")
			}, node: "m0",
			person: func(w *world) { w.machines[0].disk = before },
		},
		rollout.ReasonRolledBack: {
			begin: func(w *world) {
				before = w.machines[0].disk
				w.changeTrust()
				w.wantConverged(300)
				w.machines[0].disk = before
			}, node: "m0",
			person: func(w *world) {
				cm, err := w.client.CoreV1().ConfigMaps(testNamespace).Get(w.ctx, nodepod.StatusName(2), metav1.GetOptions{})
				if err != nil {
					w.t.Fatalf("read revision 2: %v", err)
				}
				delete(cm.Annotations, nodepod.InstalledAnnotation("m0"))
				w.drop("pods", "installer-2-m0")
				w.put(cm)
			},
		},
		rollout.ReasonPrune: {
			begin: func(w *world) {
				w.machines[0].unprunable = true
				for range 8 {
					w.changeLeaves()
					w.run(60, nil)
				}
			}, node: "m0",
			person: func(w *world) { w.machines[0].unprunable = false },
		},
	}
}
