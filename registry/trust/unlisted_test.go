// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// unlistedWorld returns a domain whose leaves are in no Secret.
func unlistedWorld(t *testing.T) *world {
	w := newWorld(t)
	w.d.Leaves, w.d.Unlisted = nil, &Unlisted{Drain: time.Hour}
	w.d.Parties = []Party{{Name: "callers", Kind: GracePeriod, Grace: time.Minute, Members: []Member{{Name: "callers"}}}}
	w.settle()
	w.now = w.now.Add(2 * time.Hour)
	w.settle()
	w.done = nil
	return w
}

func TestUnlistedLeavesDrain(t *testing.T) {
	w := unlistedWorld(t)
	w.request("test")
	if a := w.settle(); a.Stage != Distributing {
		t.Fatalf("stage %s: unlisted leaves are live", a.Stage)
	}
	w.now = w.now.Add(time.Minute)
	a := w.settle()
	if a.Stage != Draining || len(a.Blockers) != 1 || a.Blockers[0].Reason != ReasonGracePeriod || len(a.Actions) > 0 {
		t.Fatalf("stage %s, blockers %+v", a.Stage, a.Blockers)
	}
	if aa := a.Anchors[0]; aa.SafeToRemove || !slices.Contains(aa.NeededBy, "leaves that no Secret holds") {
		t.Errorf("old anchor %+v", aa)
	}
	promoted := w.now
	w.now = a.Recheck
	if got := w.now.Sub(promoted).Round(time.Minute); got != time.Hour {
		t.Errorf("recheck after %s, want the drain", got)
	}
	if a = w.settle(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("stage %s with %d anchors", a.Stage, len(w.d.Bundle.Anchors))
	}
	want := []string{"GenerateNext signer", "PublishAnchors bundle", "Promote signer", "RetireAnchors bundle", "DestroyPrevious signer"}
	if diff := cmp.Diff(want, w.steps()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestLostSignerOfUnlistedLeaves(t *testing.T) {
	w := unlistedWorld(t)
	deleteSigner(&w.d)
	a := w.settle()
	want := []string{"GenerateNext signer", "PublishAnchors bundle"}
	if diff := cmp.Diff(want, w.steps()); diff != "" || a.Stage != Distributing {
		t.Errorf("stage %s; actions (-want +got):\n%s", a.Stage, diff)
	}
	w.now = w.now.Add(time.Minute)
	w.settle()
	w.now = w.now.Add(time.Hour)
	if a = w.settle(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("stage %s with %d anchors", a.Stage, len(w.d.Bundle.Anchors))
	}
}
