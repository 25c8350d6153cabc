// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

// collected returns an aggregate that is up to date, with its sources.
func collected(w *world) (*Aggregate, map[string]*Leaf, map[string]*Bundle) {
	leaves, bundles := map[string]*Leaf{}, map[string]*Bundle{"bundle": &w.d.Bundle}
	a := &Aggregate{
		Secret: Object{Name: "all-certs", Present: true, ResourceVersion: "1"}, ConfigMap: Object{Name: "all-bundles", Present: true, ResourceVersion: "2"},
		Leaves: []string{"client-a", "server"}, Pairs: map[string]pki.Fingerprint{},
		Bundles: []AggregatedBundle{{Key: "ca.crt", Bundle: "bundle"}}, Anchors: map[string][]pki.Fingerprint{},
	}
	for _, name := range a.Leaves {
		leaves[name] = w.leaf(name)
		a.Pairs[name] = w.leaf(name).Certificate.Fingerprint
	}
	for _, ca := range w.d.Bundle.Anchors {
		a.Anchors["ca.crt"] = append(a.Anchors["ca.crt"], ca.Fingerprint)
	}
	return a, leaves, bundles
}

func TestAssessAggregate(t *testing.T) {
	wait := func(object, kind string) []Blocker {
		return []Blocker{{Object: object, Reason: ReasonObjectProblem, Message: "the aggregate waits for this " + kind + " to exist and be readable"}}
	}
	tests := []struct {
		name     string
		change   func(w *world, a *Aggregate, leaves map[string]*Leaf, bundles map[string]*Bundle)
		action   ActionKind
		object   string
		removes  bool
		blockers []Blocker
	}{
		{name: "up to date", change: func(*world, *Aggregate, map[string]*Leaf, map[string]*Bundle) {}},
		{name: "does not exist: trust comes first", change: func(_ *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			a.Secret.Present, a.ConfigMap.Present = false, false
		}, action: WriteAggregateConfigMap, object: "all-bundles"},
		{name: "no Secret", change: func(_ *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) { a.Secret.Present = false },
			action: WriteAggregateSecret, object: "all-certs"},
		{name: "a new anchor", change: func(w *world, _ *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, foreign(w))
		}, action: WriteAggregateConfigMap, object: "all-bundles"},
		{name: "another anchor: it stays while a former pair is there", change: func(w *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			a.Anchors["ca.crt"] = append(a.Anchors["ca.crt"], "former")
			w.leaf("server").Certificate = signedLeaf(w, "server", w.d.Signer.Active)
		}, action: WriteAggregateSecret, object: "all-certs"},
		{name: "another anchor: it stays while a leaf is missing", change: func(_ *world, a *Aggregate, leaves map[string]*Leaf, _ map[string]*Bundle) {
			a.Anchors["ca.crt"] = append(a.Anchors["ca.crt"], "former")
			delete(leaves, "server")
		}, blockers: wait("Secret/server", "leaf")},
		{name: "another anchor: it goes after the pairs", change: func(_ *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			a.Anchors["ca.crt"] = append(a.Anchors["ca.crt"], "former")
		}, action: WriteAggregateConfigMap, object: "all-bundles", removes: true},
		{name: "a new anchor for another one: it is added before anything goes", change: func(w *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			a.Anchors["ca.crt"] = []pki.Fingerprint{"former"}
		}, action: WriteAggregateConfigMap, object: "all-bundles"},
		{name: "a foreign bundle key", change: func(_ *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) { a.Anchors["old"] = nil },
			action: WriteAggregateConfigMap, object: "all-bundles", removes: true},
		{name: "a new leaf", change: func(w *world, _ *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			w.leaf("server").Certificate = signedLeaf(w, "server", w.d.Signer.Active)
		}, action: WriteAggregateSecret, object: "all-certs"},
		{name: "a leaf that left", change: func(_ *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) { a.Foreign = []string{"gone"} },
			action: WriteAggregateSecret, object: "all-certs"},
		{name: "a pair that is missing", change: func(_ *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) { delete(a.Pairs, "server") },
			action: WriteAggregateSecret, object: "all-certs"},
		{name: "no such leaf", change: func(_ *world, _ *Aggregate, leaves map[string]*Leaf, _ map[string]*Bundle) { delete(leaves, "server") },
			blockers: wait("Secret/server", "leaf")},
		{name: "an unreadable leaf", change: func(w *world, _ *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			w.leaf("server").Problem = &Problem{}
		}, blockers: wait("Secret/server", "leaf")},
		{name: "no such bundle", change: func(_ *world, _ *Aggregate, _ map[string]*Leaf, bundles map[string]*Bundle) {
			delete(bundles, "bundle")
		},
			blockers: wait("ConfigMap/bundle", "bundle")},
		{name: "an empty bundle", change: func(w *world, _ *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) { w.d.Bundle.Anchors = nil },
			blockers: wait("ConfigMap/bundle", "bundle")},
		{name: "an unreadable bundle", change: func(w *world, _ *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			w.d.Bundle.Problem = &Problem{}
		}, blockers: wait("ConfigMap/bundle", "bundle")},
		{name: "an unreadable aggregate is not overwritten", change: func(_ *world, a *Aggregate, _ map[string]*Leaf, _ map[string]*Bundle) {
			a.ConfigMap.Problem = &Problem{Object: "ConfigMap/all-bundles", Message: "broken"}
		}, blockers: []Blocker{{Object: "ConfigMap/all-bundles", Reason: ReasonObjectProblem, Message: "broken"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			a, leaves, bundles := collected(w)
			tt.change(w, a, leaves, bundles)
			actions, blockers := AssessAggregate(a, leaves, bundles)
			if diff := cmp.Diff(tt.blockers, blockers); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
			switch {
			case tt.action == "" && len(actions) > 0:
				t.Errorf("unexpected %+v", actions)
			case tt.action == "":
			case len(actions) != 1 || actions[0].Kind != tt.action || actions[0].Object != tt.object || actions[0].ResourceVersion == "" || actions[0].Irreversible != tt.removes:
				t.Errorf("actions %+v, want one %s of %s, irreversible %t", actions, tt.action, tt.object, tt.removes)
			}
		})
	}
}

func TestJudgeAggregate(t *testing.T) {
	tests := []struct {
		name      string
		inFlight  bool
		before    func(a *Aggregate)
		edit      func(a *Aggregate)
		invariant Invariant
		object    string
	}{
		{name: "deleted when stable", edit: func(a *Aggregate) { a.Secret.Present = false }},
		{name: "Secret deleted in flight", inFlight: true, edit: func(a *Aggregate) { a.Secret.Present = false },
			invariant: NeverEmpty, object: "Secret/all-certs"},
		{name: "ConfigMap deleted in flight", inFlight: true, edit: func(a *Aggregate) { a.ConfigMap.Present = false },
			invariant: NeverEmpty, object: "ConfigMap/all-bundles"},
		{name: "created", inFlight: true, before: func(a *Aggregate) { a.Secret.Present, a.ConfigMap.Present = false, false }, edit: func(a *Aggregate) { a.Secret.Present = true }},
		{name: "Secret emptied", edit: func(a *Aggregate) { a.Pairs = nil }, invariant: NeverEmpty, object: "Secret/all-certs"},
		{name: "ConfigMap emptied", edit: func(a *Aggregate) { a.Anchors = nil }, invariant: NeverEmpty, object: "ConfigMap/all-bundles"},
		{name: "one pair less", edit: func(a *Aggregate) { a.Pairs = map[string]pki.Fingerprint{"server": "x"} }},
		{name: "revision lowered in flight", inFlight: true, before: revision("5"), edit: revision("4"), invariant: ContentDecides, object: "ConfigMap/all-bundles"},
		{name: "revision raised in flight", inFlight: true, before: revision("5"), edit: revision("6")},
		{name: "revision deleted in flight", inFlight: true, before: revision("5"), edit: func(a *Aggregate) { a.ConfigMap.Annotations = nil },
			invariant: ContentDecides, object: "ConfigMap/all-bundles"},
		{name: "revision lowered when stable", before: revision("5"), edit: revision("4")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			if tt.inFlight {
				inStage(Distributing)(w)
			}
			before, _, _ := collected(w)
			if tt.before != nil {
				tt.before(before)
			}
			after := *before
			tt.edit(&after)
			found := JudgeAggregate(before, &after, []*Domain{{}, &w.d}, w.now)
			switch {
			case tt.invariant == "" && len(found) > 0:
				t.Errorf("refused: %+v", found)
			case tt.invariant == "":
			case len(found) != 1 || found[0].Invariant != tt.invariant || found[0].Object != tt.object || found[0].SafeWay == "":
				t.Errorf("got %+v, want %s of %s", found, tt.invariant, tt.object)
			}
		})
	}
}

func revision(n string) func(a *Aggregate) {
	return func(a *Aggregate) { a.ConfigMap.Annotations = map[string]string{AnnotationRolloutRevision: n} }
}
