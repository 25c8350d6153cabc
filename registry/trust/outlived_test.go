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

// TestRecoveredMembersKeepTheirKey: where all Secrets have expired and members present what a recovery has made of the same
// key, the key is not replaced.
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
		// want is the kind of the only action, "" if it is held.
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
			if p == nil || p.Reason != ReasonOutlived || !strings.Contains(p.Message, "server/server present") || !strings.Contains(p.Message, "certrotation recover") {
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
