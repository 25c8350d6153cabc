// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"
	"time"
)

// TestDropEvidence: an evidence record is dropped after its lease if its member is neither configured nor in the
// roster. Both must be known.
func TestDropEvidence(t *testing.T) {
	for _, test := range []struct {
		name          string
		party, member string
		// expires after now. The record belongs to an unknown member, unless change makes it known.
		expires time.Duration
		change  func(w *world)
		// configured is set for the configured member of the party.
		configured, dropped bool
	}{
		{name: "of a pod that is gone", party: "server", member: "pod-1", expires: -time.Second, dropped: true},
		{name: "its lease ends now", party: "server", member: "pod-1", dropped: true},
		{name: "its lease lasts", party: "server", member: "pod-1", expires: time.Second},
		{name: "of a party that is not configured any more", party: "gone", member: "pod-1", expires: -time.Hour, dropped: true},
		{name: "of a configured member that was not seen for long", party: "server", configured: true, expires: -time.Hour},
		{
			name: "of a pod that runs, and was not seen for long", party: "server", member: "pod-1", expires: -time.Hour, change: func(w *world) {
				p := w.party("server")
				p.Members = append(p.Members, Member{Name: "pod-1", Instance: "uid-1", Pod: &Pod{Started: true, Process: "1"}, Observations: p.Members[0].Observations})
			},
		},
		{
			name: "of a member that counts by the roster alone", party: "server", member: "pod-1", expires: -time.Hour, change: func(w *world) {
				roster := *w.d.Roster
				roster.Members = append(slices.Clone(roster.Members), RosterMember{Party: "server", Member: "pod-1", Instance: "uid-1", Pod: true})
				w.d.Roster = &roster
			},
		},
		{
			name: "the pods of its party are not listed yet", party: "server", member: "pod-1", expires: -time.Hour,
			change: func(w *world) { w.party("server").OfPods, w.party("server").Unlisted = true, true },
		},
		{
			name: "nobody can say who counts", party: "server", member: "pod-1", expires: -time.Hour,
			change: func(w *world) { w.d.RosterProblem = &Problem{Object: "RotationRecord/roster.signer"} },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := bootstrapped(t)
			if test.configured {
				test.member = w.party(test.party).Members[0].Name
			}
			w.d.Evidence = []EvidenceRecord{{
				Record: "evidence.x", UID: "uid-x", ResourceVersion: "7", Party: test.party, Member: test.member, Expires: w.now.Add(test.expires),
			}}
			if test.change != nil {
				test.change(w)
			}
			a := w.assess()
			at := slices.IndexFunc(a.Actions, func(action Action) bool { return action.Kind == DropEvidence })
			if dropped := at >= 0; dropped != test.dropped {
				t.Fatalf("dropped: %t, want %t; actions %v", dropped, test.dropped, a.Actions)
			}
			if at < 0 {
				return
			}
			if action := a.Actions[at]; action.Object != "evidence.x" || action.Evidence.UID != "uid-x" || action.ResourceVersion != "7" {
				t.Errorf("what is dropped is %+v", action)
			}
		})
	}
}

// TestLapsingEvidenceIsLookedAtAgain: only time makes an ownerless record deletable, so the recheck must include
// its expiry.
func TestLapsingEvidenceIsLookedAtAgain(t *testing.T) {
	w := bootstrapped(t)
	ends := w.now.Add(time.Minute)
	w.d.Evidence = []EvidenceRecord{{Record: "evidence.x", Party: "server", Member: "pod-1", Expires: ends}}
	if a := w.assess(); !a.Recheck.Equal(ends) {
		t.Errorf("looked at again at %s, want at the end of the lease at %s", a.Recheck, ends)
	}
	w.now = ends
	if w.settle(); len(w.d.Evidence) > 0 {
		t.Errorf("records %v are left", w.d.Evidence)
	}
}
