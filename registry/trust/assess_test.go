// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

func TestBootstrapIssuesEverythingInOnePass(t *testing.T) {
	w := newWorld(t)
	a := w.settle()
	want := []string{"GenerateActive signer", "PublishAnchors bundle", "IssueLeaf client-a", "IssueLeaf client-b", "IssueLeaf server"}
	if diff := cmp.Diff(want, w.steps()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if a.Stage != Stable || len(a.Blockers) > 0 || len(a.Problems) > 0 {
		t.Errorf("stage %s, blockers %v, problems %v", a.Stage, a.Blockers, a.Problems)
	}
	for _, l := range a.Leaves {
		if !l.Usable {
			t.Errorf("leaf %s is not usable", l.Name)
		}
	}
}

func TestRotationGoesThroughItsStages(t *testing.T) {
	w := bootstrapped(t)
	old := w.d.Signer.Active
	w.request("test")
	var stages []Stage
	for range 40 {
		a := w.assess()
		if len(stages) == 0 || stages[len(stages)-1] != a.Stage {
			stages = append(stages, a.Stage)
		}
		if a.Stage == Stable && len(stages) > 1 {
			break
		}
		if !w.step() {
			w.reloadAll()
		}
	}
	if diff := cmp.Diff([]Stage{Stable, Distributing, Reissuing, Draining, Retiring, Stable}, stages); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	want := []string{
		"GenerateNext signer", "PublishAnchors bundle", "Promote signer",
		"IssueLeaf client-a", "IssueLeaf client-b", "IssueLeaf server", "RetireAnchors bundle", "DestroyPrevious signer",
	}
	if diff := cmp.Diff(want, w.steps()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if same(old, w.d.Signer.Active) || len(w.d.Bundle.Anchors) != 1 || len(w.d.Signer.Previous) != 0 {
		t.Errorf("the old CA is still there: %d anchors, %d previous", len(w.d.Bundle.Anchors), len(w.d.Signer.Previous))
	}
}

func TestClientLeavesMoveOnceTheServerTrusts(t *testing.T) {
	w := bootstrapped(t)
	w.request("test")
	w.settle()
	w.reload("server")
	w.settle()
	want := []string{"GenerateNext signer", "PublishAnchors bundle", "IssueLeaf client-a", "IssueLeaf client-b"}
	if diff := cmp.Diff(want, w.steps()); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	a := w.assess()
	if a.Stage != Reissuing || !a.Blocked() {
		t.Errorf("stage %s, blocked %t", a.Stage, a.Blocked())
	}
	var names []string
	for _, b := range a.Blockers {
		names = append(names, b.Party)
	}
	if !slices.Contains(names, "client-a") || !slices.Contains(names, "client-b") || slices.Contains(names, "server") {
		t.Errorf("blockers %v", names)
	}
}

func TestRotationHoldsForOneSlowClient(t *testing.T) {
	w := bootstrapped(t)
	w.request("test")
	for range 20 {
		w.settle()
		w.reload("server", "client-a")
	}
	w.now = w.now.Add(24 * time.Hour)
	a := w.settle()
	if a.Stage != Reissuing || same(w.d.Signer.Active, a.Newest) {
		t.Errorf("stage %s; next promoted: %t", a.Stage, same(w.d.Signer.Active, a.Newest))
	}
	for _, b := range a.Blockers {
		if b.Party != "client-b" {
			t.Errorf("unexpected blocker %+v", b)
		}
	}
	if p := a.ProblemOf("Secret/signer"); p == nil || p.Reason != ReasonOverdue {
		t.Errorf("problem %+v, want %s", p, ReasonOverdue)
	}
	if len(w.d.Bundle.Anchors) != 2 {
		t.Errorf("%d anchors, want 2", len(w.d.Bundle.Anchors))
	}
}

func TestLostAndDamagedObjects(t *testing.T) {
	tests := []struct {
		name   string
		damage func(w *world)
		want   []string
		stage  Stage
	}{
		{"leaf deleted", func(w *world) { w.leaf("server").Present, w.leaf("server").Certificate = false, nil },
			[]string{"IssueLeaf server"}, Stable},
		{"signer deleted: the new key starts as next", func(w *world) {
			w.d.Signer = Signer{Object: Object{Name: "signer"}, Policy: w.d.Signer.Policy}
		}, []string{"GenerateNext signer", "PublishAnchors bundle"}, Distributing},
		{"bundle deleted", func(w *world) { w.d.Bundle = Bundle{Object: Object{Name: "bundle"}} },
			[]string{"PublishAnchors bundle"}, Stable},
		{"bundle emptied", func(w *world) { w.d.Bundle.Anchors = nil }, []string{"PublishAnchors bundle"}, Stable},
		{"signer and bundle deleted: rebuilt from what the leaves carry", func(w *world) {
			w.d.Signer = Signer{Object: Object{Name: "signer"}, Policy: w.d.Signer.Policy}
			w.d.Bundle = Bundle{Object: Object{Name: "bundle"}}
		}, []string{"GenerateNext signer", "PublishAnchors bundle"}, Distributing},
		{"certificate-not-after of the signer deleted", func(w *world) { delete(w.d.Signer.Annotations, AnnotationNotAfter) },
			[]string{"GenerateNext signer", "PublishAnchors bundle"}, Distributing},
		{"certificate-not-after of a leaf deleted", func(w *world) { delete(w.leaf("server").Annotations, AnnotationNotAfter) },
			[]string{"IssueLeaf server"}, Stable},
		{"certificate-not-before of the signer deleted", func(w *world) { delete(w.d.Signer.Annotations, AnnotationNotBefore) },
			[]string{"GenerateNext signer", "PublishAnchors bundle"}, Distributing},
		{"certificate-not-before of a leaf deleted", func(w *world) { delete(w.leaf("server").Annotations, AnnotationNotBefore) },
			[]string{"IssueLeaf server"}, Stable},
		{"all annotations of a leaf deleted", func(w *world) { w.leaf("server").Annotations = nil }, []string{"RecordMetadata server"}, Stable},
		{"certificate-not-after of a leaf in the past", func(w *world) { w.leaf("server").Annotations[AnnotationNotAfter] = "2020-01-01T00:00:00Z" },
			[]string{"RecordMetadata server"}, Stable},
		{"certificate-not-after of a due leaf in the future", func(w *world) {
			w.now = refresh(w.leaf("server").Certificate, w.leaf("server").Policy)
			w.leaf("server").Annotations[AnnotationNotAfter] = "2099-01-01T00:00:00Z"
		}, []string{"IssueLeaf client-a", "IssueLeaf client-b", "IssueLeaf server"}, Stable},
		{"one of two anchors removed in flight", func(w *world) {
			publishedNext(w)
			w.done = nil
			w.d.Bundle.Anchors = w.d.Bundle.Anchors[1:]
		}, []string{"PublishAnchors bundle"}, Distributing},
		{"anchors in another order", func(w *world) {
			publishedNext(w)
			w.done = nil
			slices.Reverse(w.d.Bundle.Anchors)
		}, nil, Distributing},
		{"names of a leaf changed", func(w *world) { w.leaf("server").Policy.Profile.DNSNames = []string{"other.example"} },
			[]string{"IssueLeaf server"}, Stable},
		{"unreadable leaf holds nothing else up and is not overwritten", func(w *world) {
			l := w.leaf("server")
			l.Certificate, l.Problem = nil, &Problem{Object: "Secret/server", Reason: ReasonUnparsable}
			w.requestFor("client-a", "")
		}, []string{"IssueLeaf client-a", "ClearRequest rotate.client-a"}, Stable},
		{"unreadable signer", func(w *world) {
			w.d.Signer.Problem = &Problem{Object: "Secret/signer", Reason: ReasonUnparsable}
			w.leaf("server").Certificate = nil
		}, nil, Stable},
		{"everything expired: nobody can be cut off", func(w *world) { w.now = w.now.Add(6 * 365 * 24 * time.Hour) },
			[]string{"GenerateActive signer", "PublishAnchors bundle", "IssueLeaf client-a", "IssueLeaf client-b", "IssueLeaf server", "RetireAnchors bundle", "DestroyPrevious signer"}, Stable},
		{"clock set back before the CA: nothing is minted", func(w *world) {
			w.now = w.now.Add(-24 * time.Hour)
			w.leaf("server").Present, w.leaf("server").Certificate = false, nil
		}, nil, Stable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			tt.damage(w)
			a := w.settle()
			if diff := cmp.Diff(tt.want, w.done); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if a.Stage != tt.stage {
				t.Errorf("stage %s, want %s", a.Stage, tt.stage)
			}
		})
	}
}

func TestHandReplacedSignerWaitsForTrust(t *testing.T) {
	w := bootstrapped(t)
	old := w.d.Signer.Active
	w.d.Signer.Active = w.authority(w.d.Signer.Policy.Profile)
	record(&w.d.Signer.Object, MetadataOfSigner(w.d.Name, w.d.Signer.Active, w.d.Signer.Policy))
	a := w.settle()
	if diff := cmp.Diff([]string{"PublishAnchors bundle"}, w.done); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if a.Stage != Distributing || len(a.Blockers) == 0 {
		t.Errorf("stage %s, blockers %v", a.Stage, a.Blockers)
	}
	if len(w.d.Bundle.Anchors) != 2 || !same(w.d.Bundle.Anchors[0], old) {
		t.Errorf("the old anchor must stay first of two, got %d", len(w.d.Bundle.Anchors))
	}
	for range 5 {
		w.reloadAll()
		a = w.settle()
	}
	if a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("stage %s with %d anchors after everybody reloaded", a.Stage, len(w.d.Bundle.Anchors))
	}
}

// TestAbort: an abort ends although no member loads or reports anything. The new CA has signed nothing.
func TestAbort(t *testing.T) {
	w := bootstrapped(t)
	w.request("test")
	w.settle()
	w.abort()
	a := w.settle()
	if a.Stage != Stable || w.d.Signer.Next != nil || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("stage %s, next %v, %d anchors", a.Stage, w.d.Signer.Next, len(w.d.Bundle.Anchors))
	}
	for _, done := range w.done {
		if strings.HasPrefix(done, "IssueLeaf") {
			t.Errorf("a leaf was issued: %v", w.done)
		}
	}
}

// TestAbortAfterALeafWasRestored: a process that loaded a leaf of the new CA may still present it, observed or
// not.
func TestAbortAfterALeafWasRestored(t *testing.T) {
	w := published(t)
	former := map[string]*pki.Certificate{}
	for i := range w.d.Leaves {
		former[w.d.Leaves[i].Name] = w.d.Leaves[i].Certificate
	}
	w.reload("server")
	w.settle()
	w.reload("client-a", "client-b")
	restored := 0
	for i := range w.d.Leaves {
		if l := &w.d.Leaves[i]; l.Certificate != former[l.Name] {
			l.Certificate = former[l.Name]
			restored++
		}
	}
	w.now = w.now.Add(2 * lease)
	w.abort()
	if a := w.settle(); restored == 0 || a.Stage != Draining || len(w.d.Bundle.Anchors) != 2 || w.d.Signer.Next != nil {
		t.Errorf("%d leaves were restored; stage %s, %d anchors, next %v", restored, a.Stage, len(w.d.Bundle.Anchors), w.d.Signer.Next)
	}
	for range 3 {
		w.reloadAll()
		w.settle()
	}
	if a := w.assess(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("after everybody has reloaded the stage is %s with %d anchors", a.Stage, len(w.d.Bundle.Anchors))
	}
}

// TestWithdrawnAbort: after the abort is withdrawn, the rotation continues and the new CA may sign again.
func TestWithdrawnAbort(t *testing.T) {
	w := published(t)
	w.abort()
	if a := w.assess(); len(a.Actions) != 1 || a.Actions[0].Kind != RecordRoster || len(a.Actions[0].Roster.NeverSigned) != 1 {
		t.Fatalf("an abort begins with %+v", a.Actions)
	}
	w.step()
	w.d.Requests = nil
	for range 5 {
		w.reloadAll()
		w.settle()
	}
	if a := w.assess(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 || len(w.d.Roster.NeverSigned) != 0 {
		t.Errorf("stage %s, %d anchors, never signed: %v", a.Stage, len(w.d.Bundle.Anchors), w.d.Roster.NeverSigned)
	}
}

// TestDeposedLeaderCannotSignWhatIsAborted: a leader that has not seen the abort must write the record first, and
// that write conflicts.
func TestDeposedLeaderCannotSignWhatIsAborted(t *testing.T) {
	w := published(t)
	w.reload("server")
	first := w.assess().Actions
	if len(first) != 1 || first[0].Kind != RecordRoster || len(first[0].Roster.MayHaveSigned) != 1 {
		t.Fatalf("before the first leaf of the new CA comes %+v", first)
	}
	w.abort()
	second := w.assess().Actions
	if len(second) != 1 || second[0].Object != first[0].Object || second[0].ResourceVersion != first[0].ResourceVersion || len(second[0].Roster.NeverSigned) != 1 {
		t.Errorf("the abort does not begin with the same record: %+v", second)
	}
}

func TestDeletedLeafIsReissuedInEveryStage(t *testing.T) {
	for steps := range 12 {
		w := bootstrapped(t)
		w.request("test")
		for range steps {
			if !w.step() {
				w.reloadAll()
			}
		}
		stage := w.assess().Stage
		w.leaf("server").Present, w.leaf("server").Certificate = false, nil
		w.settle()
		if w.leaf("server").Certificate == nil {
			t.Errorf("after %d steps (%s): the leaf was not reissued", steps, stage)
		}
	}
}

// TestAnchorsCountWhoHasLoadedThem: the state of an anchor says how many members have loaded it.
func TestAnchorsCountWhoHasLoadedThem(t *testing.T) {
	w := published(t)
	for i, name := range []string{"client-a", "server", "client-b"} {
		next := w.assess().Anchors[1]
		if !same(next.Certificate, w.d.Signer.Next) || next.Trusted != i || next.Members != 3 {
			t.Errorf("%d of %d members count for %s, want %d of 3", next.Trusted, next.Members, next.Certificate.Subject, i)
		}
		w.reload(name)
	}
}
