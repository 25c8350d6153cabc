// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"certrotation.dev/registry/pki"
)

// mountedPods makes the servers of a stable domain pods that mount their files.
func mountedPods(t *testing.T) *world {
	w := podWorld(t, Mounted, running("a", "1"), running("b", "2"))
	w.pods().Mounts = Mounts{Trust: "trust", TrustKey: "ca.crt"}
	return w
}

// sees records that the pods have loaded what is published, in the given volumes.
func (w *world) sees(in *Mounts) {
	w.loadPods()
	for i := range w.pods().Members {
		w.pods().Members[i].Observations[0].Address = in.Place()
	}
}

// TestMountedProvesOfItsVolumes: an observation of other volumes than the party names proves nothing.
func TestMountedProvesOfItsVolumes(t *testing.T) {
	for name, tt := range map[string]struct {
		in   Mounts
		want bool
	}{
		"these volumes":   {Mounts{Trust: "trust", TrustKey: "ca.crt"}, true},
		"another volume":  {Mounts{Trust: "certs", TrustKey: "ca.crt"}, false},
		"another key":     {Mounts{Trust: "trust", TrustKey: "root.crt"}, false},
		"one volume more": {Mounts{Trust: "trust", TrustKey: "ca.crt", Leaves: []string{"tls"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := mountedPods(t)
			w.sees(&tt.in)
			got := decide(&w.d, w.now).untrusting(w.pods(), w.d.Signer.Active)
			if proven := len(got.blockers) == 0; proven != tt.want {
				t.Errorf("proven %t, want %t: %+v", proven, tt.want, got.blockers)
			}
		})
	}
}

// TestMountedHoldsARotation: a rotation waits for the pods by name until they mount what is published. It restarts
// no workload for that.
func TestMountedHoldsARotation(t *testing.T) {
	w := mountedPods(t)
	w.sees(&w.pods().Mounts)
	w.request("test")
	w.settle()
	if a := w.assess(); a.Stage == Stable || !slices.ContainsFunc(a.Blockers, func(b Blocker) bool {
		return b.Reason == ReasonAnchorNotLoaded && strings.Contains(b.Message, "the writer of the immutable objects of its pods")
	}) {
		t.Fatalf("stage %s, blockers %+v", a.Stage, a.Blockers)
	}
	if due := Restarts(&w.d, w.now, nil); len(due) > 0 {
		t.Errorf("restarts %+v", due)
	}
	next := w.d.Signer.Next
	w.sees(&w.pods().Mounts)
	if left := decide(&w.d, w.now).untrusting(w.pods(), next); len(left.blockers) > 0 {
		t.Errorf("they mount it, and %+v", left.blockers)
	}
}

// TestAnImmutableCopyIsNoProblem: a leaf that is not configured is not issued, so its Secret need not be writable.
// Its anchor stays as long as the Secret exists.
func TestAnImmutableCopyIsNoProblem(t *testing.T) {
	w := bootstrapped(t)
	copied := *w.leaf("server")
	copied.Annotations, copied.Labels = maps.Clone(copied.Annotations), maps.Clone(copied.Labels)
	copied.Name, copied.Immutable, copied.Unnamed, copied.Template = "server-0a1b2c3d", true, true, ""
	w.d.Leaves = append(w.d.Leaves, copied)
	if a := w.assess(); len(a.Problems) > 0 {
		t.Fatalf("problems %+v", a.Problems)
	}
	w.request("test")
	for range 5 {
		w.settle()
		w.reload("server", "client-a", "client-b")
	}
	a := w.assess()
	if a.Stage == Stable || !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Object == "Secret/server-0a1b2c3d" && b.Reason == ReasonUnnamed }) {
		t.Errorf("stage %s, blockers %+v", a.Stage, a.Blockers)
	}
	if copied.Certificate.SignedBy(w.d.Signer.Active) || !w.leaf("server").Certificate.SignedBy(w.d.Signer.Active) {
		t.Error("it keeps the leaf from being reissued")
	}
	if !slices.ContainsFunc(w.d.Bundle.Anchors, func(ca *pki.Certificate) bool { return copied.Certificate.SignedBy(ca) }) {
		t.Error("its anchor has left the bundle")
	}
}
