// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

func TestProblems(t *testing.T) {
	broken := func(object string) *Problem { return &Problem{Object: object, Reason: ReasonUnparsable, Message: "x"} }
	tests := []struct {
		name   string
		damage func(w *world)
		object string
		reason Reason
	}{
		{"signer unreadable", func(w *world) { w.d.Signer.Problem = broken("Secret/signer") }, "Secret/signer", ReasonUnparsable},
		{"signer expired", func(w *world) { w.now = w.d.Signer.Active.NotAfter.Add(1) }, "Secret/signer", ReasonExpired},
		{"bundle unreadable", func(w *world) { w.d.Bundle.Problem = broken("ConfigMap/bundle") }, "ConfigMap/bundle", ReasonUnparsable},
		{"leaf unreadable", func(w *world) { w.leaf("server").Problem = broken("Secret/server") }, "Secret/server", ReasonUnparsable},
		{"leaf of an unknown signer", func(w *world) { w.leaf("server").Certificate = signedLeaf(w, "server", foreign(w)) }, "Secret/server", ReasonUnknownSigner},
		{"configuration", func(w *world) { w.d.Problems = []Problem{*broken("Node/a")} }, "Node/a", ReasonUnparsable},
		{"stage overdue", func(w *world) { publishedNext(w); w.now = w.assess().StageDeadline }, "Secret/signer", ReasonOverdue},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			if a := w.assess(); len(a.Problems) > 0 || a.ProblemOf(tt.object) != nil {
				t.Fatalf("problems before: %+v", a.Problems)
			}
			tt.damage(w)
			if p := w.assess().ProblemOf(tt.object); p == nil || p.Reason != tt.reason || p.Message == "" {
				t.Errorf("got %+v, want %s", p, tt.reason)
			}
		})
	}
}

func TestProblemsHoldARotation(t *testing.T) {
	w := bootstrapped(t)
	w.request("test")
	w.d.Problems = []Problem{{Object: "Node/a", Reason: ReasonNodeWithoutAddress}}
	if a := w.assess(); len(a.Actions) != 1 || len(a.Blockers) > 0 {
		t.Errorf("a node without an address holds: %+v", a.Blockers)
	}
	w.d.Problems[0].Reason = ReasonWrongType
	a := w.assess()
	if len(a.Actions) > 0 || !a.Blocked() || a.Blockers[0].Object != "Node/a" || a.Blockers[0].Reason != ReasonObjectProblem {
		t.Errorf("actions %+v, blockers %+v", a.Actions, a.Blockers)
	}
}

func TestUnknownLeafIsReplaced(t *testing.T) {
	w := bootstrapped(t)
	w.leaf("server").Certificate = signedLeaf(w, "server", foreign(w))
	if a := w.settle(); a.Stage != Stable || a.Leaves[2].SignedBySlot != SlotActive {
		t.Errorf("stage %s, leaf %+v", a.Stage, a.Leaves[2])
	}
}

func TestNextThatExpiredIsDropped(t *testing.T) {
	const year = 365 * 24 * time.Hour
	t.Run("a rotation begins anew", func(t *testing.T) {
		w := published(t)
		w.d.Signer.Active = w.longLived()
		w.d.Bundle.Anchors[0] = w.d.Signer.Active
		for i := range w.d.Leaves {
			w.d.Leaves[i].Certificate = nil
			w.d.Leaves[i].Present = false
		}
		old := w.d.Signer.Next
		w.now = w.now.Add(6 * year)
		w.settle()
		if !slices.Contains(w.done, "DropNext signer") || same(w.d.Signer.Next, old) {
			t.Errorf("next is still there: %v", w.done)
		}
	})
	t.Run("a fresh start where nothing is left", func(t *testing.T) {
		w := bootstrapped(t)
		deleteSigner(&w.d)
		w.settle()
		w.now = w.now.Add(6 * year)
		for range 5 {
			w.settle()
			w.reloadAll()
		}
		if a := w.settle(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 || w.d.Signer.Next != nil {
			t.Errorf("stage %s with %d anchors: %v", a.Stage, len(w.d.Bundle.Anchors), w.done)
		}
	})
}

// longLived returns a CA of this signer that outlives others.
func (w *world) longLived() *pki.Certificate {
	p := w.d.Signer.Policy.Profile
	p.Validity = 20 * 365 * 24 * time.Hour
	return w.authority(p)
}

// TestRecoveredMembersKeepTheirKey: all Secrets have expired, and members present what a recovery made with the
// same key. Then the key is not replaced.
func TestRecoveredMembersKeepTheirKey(t *testing.T) {
	recovered := func(member string) func(w *world) {
		return func(w *world) {
			m := w.member(member)
			o := w.observation(w.party(member).Kind, m)
			o.Presents, o.RecoveredUntil, o.Expires = []pki.Fingerprint{"recovered"}, w.now.Add(day), w.now.Add(time.Minute)
			m.Observations = []Observation{o}
		}
	}
	tests := []struct {
		name   string
		change func(w *world)
		// want is the kind of the only action, "" if nothing may be done.
		want ActionKind
	}{
		{name: "nobody was recovered", want: GenerateActive},
		{name: "nobody was ever observed", want: GenerateActive, change: func(w *world) { w.member("server").Observations = nil }},
		{name: "a server was", change: recovered("server")},
		{name: "a server was, and is down now", change: func(w *world) {
			recovered("server")(w)
			w.member("server").Observations[0].Failure = "it cannot be reached"
		}},
		{name: "a server was, and a new CA is on its way", change: func(w *world) {
			recovered("server")(w)
			w.d.Signer.Next = w.authority(w.d.Signer.Policy.Profile)
		}},
		{name: "a server was, and an expired CA was on its way", change: func(w *world) {
			recovered("server")(w)
			w.d.Signer.Next = w.resigned(w.d.Signer.Active, w.now.Add(-12*years))
		}},
		{name: "a server was, and what was recovered has expired", want: GenerateActive, change: func(w *world) {
			recovered("server")(w)
			w.now = w.now.Add(day + time.Second)
		}},
		{name: "somebody reports that he was", change: recovered("client-a"), want: GenerateNext},
		{name: "a server was, and the signer was deleted", want: GenerateNext, change: func(w *world) {
			recovered("server")(w)
			deleteSigner(&w.d)
		}},
		{name: "a server was, and the re-signed CA is in its place", want: PublishAnchors, change: func(w *world) {
			recovered("server")(w)
			w.d.Signer.Active = w.resigned(w.d.Signer.Active, w.now)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			w.now = w.now.Add(6 * years)
			if tt.change != nil {
				tt.change(w)
			}
			a := w.assess()
			if tt.want != "" {
				if len(a.Actions) != 1 || a.Actions[0].Kind != tt.want {
					t.Fatalf("actions %+v, want %s alone", a.Actions, tt.want)
				}
				if replaces := tt.want == GenerateActive; a.Actions[0].Irreversible != replaces {
					t.Errorf("irreversible %t, want %t", a.Actions[0].Irreversible, replaces)
				}
				return
			}
			if len(a.Actions) > 0 {
				t.Fatalf("actions %+v, want none", a.Actions)
			}
			p := a.ProblemOf("Secret/signer")
			if p == nil || p.Reason != ReasonOutlived || !strings.Contains(p.Message, "server present") || !strings.Contains(p.Message, "certrotation recover") {
				t.Fatalf("problem %+v", p)
			}
			if !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Message == p.Message }) {
				t.Errorf("blockers %+v, want the signer", a.Blockers)
			}
			if until := w.member("server").Observations[0].RecoveredUntil; !a.Recheck.After(w.now) || a.Recheck.After(until.Add(time.Second)) {
				t.Errorf("recheck at %s, want by %s", a.Recheck, until)
			}
		})
	}
}
