// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"
)

// TestRefusedWrites: a write that the API server refuses becomes a blocker, and delays nothing else.
func TestRefusedWrites(t *testing.T) {
	f := mutual(t)
	f.requestFor("client-0", "")
	f.requestFor("server-0", "")
	f.d.Refusals = []RefusedWrite{{Object: "Secret/client-0", Verb: "update", Answer: "exceeded quota", Since: start}}
	a := f.assess()
	if len(a.Actions) != 2 {
		t.Fatalf("actions %+v, want both leaves: one is tried again, the other does not wait", a.Actions)
	}
	b := a.Blockers
	if len(b) != 1 || b[0].Reason != ReasonWriteRefused || b[0].Object != "Secret/client-0" || !strings.Contains(b[0].Message, "refuses to update it") ||
		!strings.Contains(b[0].Message, "exceeded quota") {
		t.Errorf("blockers %+v", b)
	}
	if a.Blocked() {
		t.Error("blocked though there is something to do")
	}
	f.perform(&a.Actions[slices.IndexFunc(a.Actions, func(a Action) bool { return a.Object == "server-0" })])
	f.until(ClearRequest)
	if a = f.assess(); !a.Blocked() {
		t.Errorf("not blocked though only what is refused is left: %+v", a.Actions)
	}
}

// TestUnwritableObjects: a blocker names each object that cannot be written, and only dependent steps wait.
func TestUnwritableObjects(t *testing.T) {
	tests := []struct {
		name   string
		change func(d *Domain)
		object string
		reason Reason
	}{
		{"immutable bundle", func(d *Domain) { d.Bundle.Immutable = true }, "ConfigMap/bundle", ReasonImmutable},
		{"signer that is being deleted", func(d *Domain) { d.Signer.Deleting, d.Signer.Finalizers = true, true }, "Secret/signer", ReasonDeleting},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := mutual(t)
			f.request("test")
			tt.change(&f.d)
			a := f.assess()
			if len(a.Actions) > 0 {
				t.Errorf("actions %+v", a.Actions)
			}
			if p := a.ProblemOf(tt.object); p == nil || p.Reason != tt.reason {
				t.Errorf("problems %+v", a.Problems)
			}
			if !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Object == tt.object }) {
				t.Errorf("blockers %+v", a.Blockers)
			}
		})
	}
	t.Run("immutable leaf", func(t *testing.T) {
		f := mutual(t)
		f.leaf("client-0").Immutable = true
		f.requestFor("client-0", "")
		f.requestFor("server-0", "")
		a := f.assess()
		if len(a.Actions) != 1 || a.Actions[0].Object != "server-0" || a.ProblemOf("Secret/client-0") == nil {
			t.Errorf("actions %+v, problems %+v", a.Actions, a.Problems)
		}
	})
}
