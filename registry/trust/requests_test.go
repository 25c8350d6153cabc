// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRequests(t *testing.T) {
	tests := []struct {
		name        string
		annotations map[string]string
		want        bool
		text        string
	}{
		{"no annotations: not adopted yet", nil, false, ""},
		{"all three", map[string]string{AnnotationNotBefore: "a", AnnotationNotAfter: "b", AnnotationIssuer: "c"}, false, ""},
		{"not-after deleted", map[string]string{AnnotationNotBefore: "a", AnnotationIssuer: "c"}, true, AnnotationNotAfter},
		{"not-after deleted, no issuer", map[string]string{AnnotationNotBefore: "a"}, true, AnnotationNotAfter},
		{"not-after emptied", map[string]string{AnnotationNotBefore: "a", AnnotationNotAfter: "", AnnotationIssuer: "c"}, true, AnnotationNotAfter},
		{"not-before deleted", map[string]string{AnnotationNotAfter: "b", AnnotationIssuer: "c"}, true, AnnotationNotBefore},
		{"not-before deleted, no issuer", map[string]string{AnnotationNotAfter: "b"}, true, AnnotationNotBefore},
		{"not-before emptied", map[string]string{AnnotationNotBefore: "", AnnotationNotAfter: "b", AnnotationIssuer: "c"}, true, AnnotationNotBefore},
		{"both deleted", map[string]string{AnnotationIssuer: "c"}, true, AnnotationNotAfter},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, o := decide(&Domain{}, start), &Object{Name: "x", Annotations: tt.annotations}
			if got := a.rotationRequested(o); got != tt.want {
				t.Errorf("requested %t", got)
			}
			if tt.want && !strings.Contains(a.requestText(o), tt.text) {
				t.Errorf("text %q", a.requestText(o))
			}
		})
	}
}

func TestLeafRequestIsClearedByTheIssue(t *testing.T) {
	w := bootstrapped(t)
	old := w.leaf("server").Certificate
	w.requestFor("server", "audit")
	a := w.settle()
	if diff := cmp.Diff([]string{"IssueLeaf server", "ClearRequest rotate.server"}, w.done); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if w.asked("server") || same(old, w.leaf("server").Certificate) || a.Stage != Stable {
		t.Errorf("still asked for: %t, stage %s", w.asked("server"), a.Stage)
	}
}

func TestSecondRequestIsQueued(t *testing.T) {
	w := published(t)
	next := w.d.Signer.Next
	w.request("again")
	a := w.settle()
	queued := func(b Blocker) bool { return b.Reason == ReasonRotationQueued }
	if !slices.ContainsFunc(a.Blockers, queued) || !same(w.d.Signer.Next, next) {
		t.Fatalf("blockers %+v", a.Blockers)
	}
	for range 20 {
		w.reloadAll()
		a = w.settle()
	}
	generations := 0
	for _, done := range w.done {
		if strings.HasPrefix(done, string(GenerateNext)) {
			generations++
		}
	}
	if generations != 2 || a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("%d generations, %s, %d anchors", generations, a.Stage, len(w.d.Bundle.Anchors))
	}
}

func TestAbortThatCannotBeHonoured(t *testing.T) {
	w := published(t)
	w.reload("server")
	w.settle()
	w.abort()
	a := w.assess()
	if !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Reason == ReasonAbortTooLate }) || w.step() {
		t.Errorf("blockers %+v, done %v", a.Blockers, w.done)
	}
	w = bootstrapped(t)
	w.abort()
	w.settle()
	if diff := cmp.Diff([]string{"ClearRequest abort.signer"}, w.done); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestDueCertificates(t *testing.T) {
	t.Run("signer", func(t *testing.T) {
		w := bootstrapped(t)
		w.now = w.assess().SignerDue
		w.leaf("server").Policy.Profile.Validity = time.Minute // However long leaves live.
		if a := w.assess(); a.Actions[0].Kind != GenerateNext || !strings.Contains(a.Actions[0].Reason, "due for renewal") {
			t.Errorf("actions %+v", a.Actions)
		}
	})
	t.Run("leaf", func(t *testing.T) {
		w := bootstrapped(t)
		w.now = refresh(w.leaf("server").Certificate, w.leaf("server").Policy)
		if a := w.assess(); len(a.Actions) != 3 || a.Actions[0].Kind != IssueLeaf || !strings.Contains(a.Actions[0].Reason, "due for renewal") {
			t.Errorf("actions %+v", a.Actions)
		}
	})
	t.Run("a leaf that ends with its signer is left alone", func(t *testing.T) {
		w := published(t)
		w.now = w.d.Signer.Active.NotAfter.Add(-24 * time.Hour)
		w.settle()
		w.now = w.d.Signer.Active.NotAfter.Add(-time.Minute)
		if w.step() {
			t.Errorf("issued again in the last minute: %v", w.done)
		}
	})
}

// compromised returns a world whose active CA was declared compromised. Its successor is published, but not loaded
// yet.
func compromised(t *testing.T) *world {
	w := bootstrapped(t)
	w.requestCompromised("a laptop was stolen")
	w.settle()
	w.done = nil
	return w
}

func TestCompromisedIsRecordedAndCleared(t *testing.T) {
	w := bootstrapped(t)
	old := w.d.Signer.Active.Fingerprint
	w.request("just so")
	if a := w.assess(); a.Actions[0].Annotations[AnnotationCompromised] != "" {
		t.Error("an ordinary rotation declares a key compromised")
	}
	w.d.Requests = nil
	w.requestCompromised("a laptop was stolen")
	w.settle()
	if got := w.d.Signer.Annotations[AnnotationCompromised]; got != string(old) {
		t.Fatalf("annotation %q, want the fingerprint of the active CA %s", got, old)
	}
	if w.asked("signer") {
		t.Error("the request is still there")
	}
	w.reloadAll()
	w.settle()
	if got := w.d.Signer.Annotations[AnnotationCompromised]; w.assess().Stage != Draining || got != string(old) {
		t.Errorf("in the stage %s the annotation is %q", w.assess().Stage, got)
	}
	for range 5 {
		w.reloadAll()
		w.settle()
	}
	if got, ok := w.d.Signer.Annotations[AnnotationCompromised]; ok || w.assess().Stage != Stable {
		t.Errorf("at the end, in the stage %s, the annotation is %q", w.assess().Stage, got)
	}
	if w.d.Signer.Active.Fingerprint == old || len(w.d.Bundle.Anchors) != 1 || slices.Contains(w.done, "DropNext signer") {
		t.Errorf("done %v", w.done)
	}
}

// TestCompromisedSignsOnlyWhatIsGone: the compromised CA signs only leaves that are missing or no longer work.
func TestCompromisedSignsOnlyWhatIsGone(t *testing.T) {
	tests := []struct {
		name   string
		change func(w *world, l *Leaf)
		issued bool
	}{
		{"nothing", func(*world, *Leaf) {}, false},
		{"missing", func(_ *world, l *Leaf) { l.Present, l.Certificate = false, nil }, true},
		{"expired", func(w *world, l *Leaf) {
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.NotAfter = w.now.Add(-time.Second) }, w.d.Signer.Active)
		}, true},
		{"policy", func(_ *world, l *Leaf) { l.Policy.Profile.Organizations = []string{"new"} }, false},
		{"due", func(_ *world, l *Leaf) { l.Policy.RenewBefore = 365*day - time.Minute }, false},
		{"requested", func(w *world, l *Leaf) { w.requestFor(l.Name, "") }, false},
		{"of an unknown CA", func(w *world, l *Leaf) { l.Certificate = signedLeaf(w, l.Name, foreign(w)) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := compromised(t)
			w.now = w.now.Add(time.Hour)
			tt.change(w, w.leaf("server"))
			w.settle()
			want := []string(nil)
			if tt.issued {
				want = []string{"IssueLeaf server"}
			}
			w.done = slices.DeleteFunc(w.done, func(s string) bool { return strings.HasPrefix(s, string(RecordMetadata)) })
			if diff := cmp.Diff(want, w.done, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("actions (-want +got):\n%s", diff)
			}
			if l := w.leaf("server"); tt.issued && !l.Certificate.SignedBy(w.d.Signer.Active) {
				t.Errorf("signed by %s", l.Certificate.Issuer)
			}
			a := w.assess()
			if len(a.Blockers) == 0 || a.Blockers[0].Party != "server" || a.Blockers[0].Reason != ReasonAnchorNotLoaded {
				t.Errorf("nobody is named: %+v", a.Blockers)
			}
			for range 5 {
				w.reloadAll()
				w.settle()
			}
			if a := w.assess(); a.Stage != Stable || !a.Leaves[2].Usable || a.Leaves[2].SignedBySlot != SlotActive {
				t.Errorf("ends in the stage %s with %+v", a.Stage, a.Leaves[2])
			}
		})
	}
}

func TestCompromisedIsNotPaced(t *testing.T) {
	for _, compromised := range []bool{true, false} {
		t.Run(fmt.Sprint(compromised), func(t *testing.T) {
			w, index := paced(t, 10, 2)
			w.addRequest(Request{Kind: RequestRotate, Secret: "signer", Compromised: compromised})
			most := 0
			for range 10 {
				w.reload("server")
				w.done = nil
				w.stepPaced(index)
				issued := func(done string) bool { return strings.HasPrefix(done, string(IssueLeaf)) }
				most = max(most, len(slices.DeleteFunc(w.done, func(done string) bool { return !issued(done) })))
			}
			want := 2
			if compromised {
				want = 10
			}
			if most != want {
				t.Errorf("%d leaves reissued at once, want %d", most, want)
			}
		})
	}
}

// TestAbortOfACompromisedRotation: the old CA stays, and may sign again.
func TestAbortOfACompromisedRotation(t *testing.T) {
	w := compromised(t)
	w.abort()
	for range 5 {
		w.settle()
		w.reloadAll()
	}
	if _, ok := w.d.Signer.Annotations[AnnotationCompromised]; ok || w.assess().Stage != Stable {
		t.Fatalf("stage %s, annotations %v", w.assess().Stage, w.d.Signer.Annotations)
	}
	w.done = nil
	w.requestFor("server", "")
	w.settle()
	if diff := cmp.Diff([]string{"IssueLeaf server"}, w.steps()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

// TestCompromisedRotationBeginsAnew: a compromised CA is always replaced, whatever became of its successor.
func TestCompromisedRotationBeginsAnew(t *testing.T) {
	w := compromised(t)
	w.d.Signer.Next = nil
	if a := w.assess(); len(a.Actions) == 0 {
		t.Fatal("no actions")
	}
	w.reloadAll()
	for range 10 {
		w.settle()
		w.reloadAll()
	}
	if a := w.assess(); a.Stage != Stable || !slices.Contains(w.done, "GenerateNext signer") || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("stage %s after %v", a.Stage, w.done)
	}
	if got, ok := w.d.Signer.Annotations[AnnotationCompromised]; ok {
		t.Errorf("annotation %q", got)
	}
}

func TestPlanSaysWhatDistrustWouldBreak(t *testing.T) {
	w := bootstrapped(t)
	breaks := func() []string {
		t.Helper()
		p, err := PlanRotation(&w.d, "signer", w.now)
		if err != nil {
			t.Fatal(err)
		}
		return p.Breaks
	}
	want := []string{
		"Secret/client-a at server",
		"Secret/client-b at server",
		"Secret/server at client-a, client-b",
	}
	if diff := cmp.Diff(want, breaks()); diff != "" {
		t.Errorf("breaks (-want +got):\n%s", diff)
	}
	leaf := w.leaf("client-b")
	leaf.Certificate = w.raw(leaf.Certificate, func(c *x509.Certificate) { c.NotAfter = w.now.Add(-time.Second) }, w.d.Signer.Active)
	if diff := cmp.Diff([]string{want[0], want[2]}, breaks()); diff != "" {
		t.Errorf("an expired leaf breaks nothing (-want +got):\n%s", diff)
	}
	leafPlan, err := PlanRotation(&w.d, "server", w.now)
	if err != nil || leafPlan.Breaks != nil {
		t.Errorf("plan of a leaf: %v, %v", leafPlan, err)
	}
}
