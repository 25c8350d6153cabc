// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

func requestRotation(w *world) { w.request(trust.RequestRotate, signerName) }

// end is the state of a domain at rest.
type end struct {
	Stage               trust.Stage
	Anchors, Slots      int
	LeavesOfActive      int
	Aggregated, Problem bool
}

func endOf(w *world) end {
	n := w.Namespace(testNamespace)
	d := n.Domain("web")
	a := trust.Assess(d, w.clock.Now())
	e := end{Stage: a.Stage, Anchors: len(d.Bundle.Anchors), Slots: len(d.Signer.Previous), Problem: len(a.Problems) > 0}
	for _, ca := range []*pki.Certificate{d.Signer.Active, d.Signer.Next} {
		if ca != nil {
			e.Slots++
		}
	}
	for i := range d.Leaves {
		if c := d.Leaves[i].Certificate; c != nil && c.SignedBy(d.Signer.Active) {
			e.LeavesOfActive++
		}
	}
	m := membersOf(n)
	actions, blockers := trust.AssessAggregate(n.Aggregates[0], m.leaves, m.bundles)
	e.Aggregated = len(actions)+len(blockers) == 0
	return e
}

var rested = end{Stage: trust.Stable, Anchors: 1, Slots: 1, LeavesOfActive: 2, Aggregated: true}

func TestBootstrapAndRotation(t *testing.T) {
	w := newWorld(t, webConfig)
	c := w.controller()
	w.settle(c)
	if diff := cmp.Diff(rested, endOf(w)); diff != "" {
		t.Fatalf("after the bootstrap (-want +got):\n%s", diff)
	}
	first := w.domain().Signer.Active
	if n := w.settle(c); n != 0 {
		t.Fatalf("%d writes in the steady state, want none", n)
	}

	requestRotation(w)
	request := string(w.records(configv1alpha1.RecordRequest)["rotate."+signerName].UID)
	w.settle(c)
	if diff := cmp.Diff(rested, endOf(w)); diff != "" {
		t.Fatalf("after the rotation (-want +got):\n%s", diff)
	}
	signer := w.secret(signerName)
	if w.domain().Signer.Active.Equal(first) {
		t.Error("the signer is the same as before")
	}
	for _, name := range []string{inventory.NextKeyKey, inventory.PreviousKeyKey, inventory.PreviousCertKey} {
		if _, ok := signer.Data[name]; ok {
			t.Errorf("the signer still has %s", name)
		}
	}
	if left := w.records(configv1alpha1.RecordRequest); len(left) > 0 {
		t.Errorf("the request is still there: %v", left)
	}
	if got := signer.Annotations[trust.AnnotationAnswered]; got != request {
		t.Errorf("the signer answers the request %q, want %q", got, request)
	}
	if n := w.settle(c); n != 0 {
		t.Fatalf("%d writes in the steady state, want none", n)
	}
	// The evidence of the members ends after an hour.
	w.api.ForgetActions()
	for range 50 {
		w.clock.Step(time.Minute)
		w.look(c)
	}
	if got := w.api.Actions(); len(got) > 0 {
		t.Errorf("rest costs %v", got)
	}
	for _, reason := range []string{
		EventSignerUpdateRequired, EventTargetUpdateRequired, EventCABundleUpdateRequired,
		EventStageChanged, EventRotationCompleted, EventSignerPromoted, EventPreviousKeyDestroyed, EventRosterRecorded,
		EventRequestCleared,
	} {
		if !slices.ContainsFunc(w.events.all, func(e string) bool { return strings.Contains(e, " "+reason+" ") }) {
			t.Errorf("no event %s among:\n%s", reason, strings.Join(w.events.all, "\n"))
		}
	}
	for _, e := range w.events.all {
		if strings.Contains(e, "PRIVATE KEY") || strings.Contains(e, "BEGIN CERTIFICATE") {
			t.Errorf("an event quotes PEM: %s", e)
		}
	}
}

// lifecycle runs the bootstrap and a whole rotation, with a new controller after each crash.
func lifecycle(t *testing.T, fail func(write int) apifake.Fault) (w *world, writes int) {
	t.Helper()
	w = newWorld(t, webConfig)
	w.api.Fault = func(r *apifake.Request) apifake.Fault { return fail(r.Number) }
	settle := func() {
		w.settle(w.controller())
		for w.api.Dead() {
			w.api.Revive()
			w.settle(w.controller())
		}
	}
	settle()
	first := w.domain().Signer.Active
	requestRotation(w)
	settle()
	if diff := cmp.Diff(rested, endOf(w)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
	if w.domain().Signer.Active.Equal(first) {
		t.Error("the signer is the same as before")
	}
	return w, w.api.Writes()
}

// TestEveryWriteFails makes each write of a lifecycle fail once with each fault.
func TestEveryWriteFails(t *testing.T) {
	_, writes := lifecycle(t, func(int) apifake.Fault { return apifake.NoFault })
	if writes < 15 {
		t.Fatalf("a lifecycle has %d writes, that is too few to be one", writes)
	}
	for _, fault := range apifake.WriteFaults() {
		t.Run(string(fault), func(t *testing.T) {
			for n := 1; n <= writes; n++ {
				lifecycle(t, func(write int) apifake.Fault {
					if write == n {
						return fault
					}
					return apifake.NoFault
				})
			}
		})
	}
}

// TestEveryWriteConflictsOnce makes every first attempt of a write conflict.
func TestEveryWriteConflictsOnce(t *testing.T) {
	lifecycle(t, func(write int) apifake.Fault {
		if write%2 == 1 {
			return apifake.Conflict
		}
		return apifake.NoFault
	})
}
