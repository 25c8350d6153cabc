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

// TestNothingIsDoneBeforeTheFirstLooks: evidence from before a start of the controller may be outdated, so nothing
// is written before every member was observed again.
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

// TestAbsenceIsProven: a member that is removed from the configuration in flight counts until its absence is
// proven. The roster has the proof before the controller acts on it.
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
	// The removed member no longer reports.
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

// acknowledgeAs is acknowledge without the evidence of members a and b, except for the given one.
func (w *world) acknowledgeAs(member string) {
	w.t.Helper()
	w.acknowledge()
	for _, r := range w.records(configv1alpha1.RecordEvidence) {
		if e := r.Spec.Evidence; slices.Contains([]string{"a", "b"}, e.Member) && e.Member != member {
			w.drop(r)
		}
	}
}
