// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		{"not-after deleted", map[string]string{AnnotationNotBefore: "a", AnnotationIssuer: "c"}, true, "by deleting"},
		{"not-after deleted, no issuer", map[string]string{AnnotationNotBefore: "a"}, true, "by deleting"},
		{"not-after emptied", map[string]string{AnnotationNotBefore: "a", AnnotationNotAfter: "", AnnotationIssuer: "c"}, true, "by deleting"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, o := newAssessor(&Domain{}, start), &Object{Name: "x", Annotations: tt.annotations}
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
		w.leaf("server").Policy.Profile.Validity = time.Minute // Whatever leaves do.
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
