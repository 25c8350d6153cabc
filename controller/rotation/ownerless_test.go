// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// lapsing puts evidence that expires after a minute.
func (w *world) lapsing(party, member string) {
	w.t.Helper()
	now := w.clock.Now()
	made, err := record.OfEvidence(testNamespace, "web", party, member, []trust.Observation{{
		Instance: "uid", Kind: trust.Acknowledgement, ObservedAt: now, Expires: now.Add(time.Minute),
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.put(made)
}

// TestEvidenceOfNobodyDoesNotPileUp: expired evidence of former pods is deleted. Evidence of configured members
// stays.
func TestEvidenceOfNobodyDoesNotPileUp(t *testing.T) {
	w, c := settled(t)
	before := w.records(configv1alpha1.RecordEvidence)
	for i := range 3 * maxBatch {
		w.lapsing("clients", fmt.Sprintf("pod-%d", i))
	}
	w.look(c)
	if got := len(w.records(configv1alpha1.RecordEvidence)); got != len(before)+3*maxBatch {
		t.Fatalf("%d records while their leases last, want %d", got, len(before)+3*maxBatch)
	}
	// The evidence of configured members has expired too: at rest it is not renewed.
	w.clock.Step(2 * time.Hour)
	w.look(c)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(w.records(configv1alpha1.RecordEvidence)))); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestWhoComesBackKeepsItsEvidence: evidence that was written after the decision stays.
func TestWhoComesBackKeepsItsEvidence(t *testing.T) {
	w, c := settled(t)
	w.lapsing("clients", "pod-1")
	w.clock.Step(time.Hour)
	d := w.domain()
	at := slices.IndexFunc(d.Evidence, func(r trust.EvidenceRecord) bool { return r.Member == "pod-1" })
	drop := &trust.Action{
		Kind: trust.DropEvidence, ObjectKind: trust.RecordKind, Object: d.Evidence[at].Record, ResourceVersion: d.Evidence[at].ResourceVersion, Evidence: &d.Evidence[at],
	}
	w.lapsing("clients", "pod-1")
	if err := c.perform(t.Context(), key{namespace: testNamespace, domain: "web"}, d, domainContent{c, d}, drop); !apply.Benign(err) || err == nil {
		t.Errorf("got error %v, want one that means to look again", err)
	}
	if w.records(configv1alpha1.RecordEvidence)[drop.Object] == nil {
		t.Error("the record that was written since is gone")
	}
}
