// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// TestNothingIsDoneBeforeTheFirstLooks: what members have said before a start of the controller may have been refuted since.
func TestNothingIsDoneBeforeTheFirstLooks(t *testing.T) {
	w, c := settled(t)
	requestRotation(w)
	looked := false
	c.evidence = collector{looked: func() bool { return looked }}
	before := w.api.Writes()
	for range 3 {
		if err := c.queue.Do(t.Context(), key{namespace: testNamespace, domain: "web"}); err != nil {
			t.Fatal(err)
		}
	}
	if w.api.Writes() != before {
		t.Error("something was written before every member was looked at")
	}
	looked = true
	w.settle(c)
	if diff := cmp.Diff(rested, endOf(w)); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// TestAbsenceIsProven: a member that was taken out of the configuration in flight counts until it is proven to be gone,
// and the proof is in the roster before anything is done on it.
func TestAbsenceIsProven(t *testing.T) {
	w, c := settled(t)
	requestRotation(w)
	w.look(c)
	asked := 0
	proofs := map[string]string{}
	c.evidence = collector{absences: func(missing []trust.RosterMember) (map[string]string, error) {
		asked++
		if len(missing) != 1 || missing[0].Party != "clients" || missing[0].Member != "a" {
			return nil, errors.New("asked about others")
		}
		return proofs, nil
	}}
	cfg := w.configuration()
	cfg.Spec.TrustDomains[0].RelyingParties[1].Members = []string{"b"}
	w.put(cfg)
	// The one that was taken out reports no more.
	for range 10 {
		w.look(c)
		w.acknowledgeAs("b")
		w.clock.Step(time.Second)
	}
	d := w.domain()
	if d.Signer.Next == nil {
		t.Fatal("it was promoted without the member that was taken out")
	}
	if asked == 0 || asked > 1 {
		t.Errorf("asked %d times within a minute, want once", asked)
	}
	proofs[trust.AbsenceKey(&trust.Missing(d)[0])] = "its process has ended"
	w.clock.Step(absenceRetry)
	for range 20 {
		w.look(c)
		w.acknowledgeAs("b")
		w.clock.Step(time.Second)
	}
	if w.domain().Signer.Next != nil {
		t.Errorf("it still waits for the member that is proven to be gone: %v", trust.Assess(w.domain(), w.clock.Now()).Blockers)
	}
	if n := w.settle(c); n != 0 {
		t.Errorf("%d writes at rest", n)
	}
}

// acknowledgeAs is acknowledge without the members a and b, except for one.
func (w *world) acknowledgeAs(member string) {
	w.t.Helper()
	w.acknowledge()
	for _, r := range w.records(configv1alpha1.RecordEvidence) {
		if e := r.Spec.Evidence; slices.Contains([]string{"a", "b"}, e.Member) && e.Member != member {
			w.drop(r)
		}
	}
}
