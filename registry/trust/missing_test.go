// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"slices"
	"testing"
)

// TestMissing returns the members that count without being configured. At rest that excludes pods, of which the
// roster may hold thousands.
func TestMissing(t *testing.T) {
	for _, test := range []struct {
		name    string
		party   string
		pod     bool
		absent  string
		change  func(w *world)
		missing bool
	}{
		{name: "a node, at rest", missing: true},
		{name: "a node whose party is gone, at rest", party: "former"},
		{name: "a node whose party is gone, while a new CA is distributed", party: "former",
			change: func(w *world) { w.request("now"); w.step(); w.step() }, missing: true},
		{name: "a pod, at rest", pod: true},
		{name: "a pod, while a new CA is distributed", pod: true, change: func(w *world) { w.request("now"); w.step(); w.step() }, missing: true},
		{name: "a pod, and another anchor is published", pod: true, change: func(w *world) {
			w.d.Bundle.Anchors = append(slices.Clone(w.d.Bundle.Anchors), w.authority(w.d.Signer.Policy.Profile))
		}, missing: true},
		{name: "a pod, and a CA that is lost has signed the leaves", pod: true, change: func(w *world) {
			w.d.Signer.Active = w.authority(w.d.Signer.Policy.Profile)
			w.d.Bundle.Anchors = nil
		}, missing: true},
		{name: "a pod that is proven to be gone", pod: true, absent: "there is no pod", change: func(w *world) { w.request("now"); w.step(); w.step() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := bootstrapped(t)
			if test.change != nil {
				test.change(w)
			}
			roster := *w.d.Roster
			gone := RosterMember{Party: cmp.Or(test.party, "server"), Member: "web-1", Instance: "uid-1", Pod: test.pod, Absent: test.absent}
			roster.Members = append(slices.Clone(roster.Members), gone)
			w.d.Roster = &roster
			missing := slices.ContainsFunc(Missing(&w.d), func(m RosterMember) bool { return m.Member == gone.Member })
			if missing != test.missing {
				t.Errorf("asked for: %t, want %t", missing, test.missing)
			}
			counts := slices.ContainsFunc(w.assess().Members, func(m MemberAssessment) bool { return m.Member == gone.Member })
			if counts && test.absent == "" && !missing {
				t.Error("it counts, and nobody asks whether it is gone")
			}
		})
	}
}
