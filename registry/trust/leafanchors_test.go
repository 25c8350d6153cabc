// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// TestVerifiersByTheSecretAlone: a member that mounts only the Secret of its leaf verifies by its ca.crt. If
// ca.crt were written only with the leaf, such a member and the promotion would wait for each other.
func TestVerifiersByTheSecretAlone(t *testing.T) {
	tell := func(w *world) error {
		old := w.d.Signer.Active
		w.request("story")
		for range 20 {
			w.settle()
			w.reloadAll()
		}
		if a := w.assess(); a.Stage != Stable || w.d.Signer.Active.Equal(old) {
			return fmt.Errorf("it stays in the stage %s: %v", a.Stage, a.Blockers)
		}
		for i := range w.d.Leaves {
			if l := &w.d.Leaves[i]; !slices.EqualFunc(l.Anchors, w.d.Bundle.Anchors, (*pki.Certificate).Equal) {
				return fmt.Errorf("%s has %d anchors beside it, and the bundle %d", l.Name, len(l.Anchors), len(w.d.Bundle.Anchors))
			}
		}
		return nil
	}
	if err := tell(bootstrappedBeside(t)); err != nil {
		t.Error(err)
	}
	w := bootstrappedBeside(t)
	w.former = func(d *Domain) {
		for i := range d.Leaves {
			d.Leaves[i].Anchors = nil
		}
	}
	if err := tell(w); err == nil {
		t.Error("the former model comes through it as well")
	}
}

// TestAnchorsBesideComeFirst: the bundle gains an anchor only after every Secret has it. A Secret loses one only
// after the bundle has lost it.
func TestAnchorsBesideComeFirst(t *testing.T) {
	w := bootstrappedBeside(t)
	w.request("test")
	for range 60 {
		actions := w.assess().Actions
		if len(actions) == 0 {
			w.reloadAll()
			continue
		}
		w.perform(&actions[0])
		for _, ca := range w.d.Bundle.Anchors {
			for i := range w.d.Leaves {
				if l := &w.d.Leaves[i]; !slices.ContainsFunc(l.Anchors, ca.Equal) {
					t.Fatalf("after %s %s the bundle has %s, and the Secret of %s does not", actions[0].Kind, actions[0].Object, ca.Subject, l.Name)
				}
			}
		}
	}
	want := []string{
		"GenerateNext signer", "UpdateLeafAnchors client-a", "UpdateLeafAnchors client-b", "UpdateLeafAnchors server", "PublishAnchors bundle",
		"Promote signer", "IssueLeaf client-a", "IssueLeaf client-b", "IssueLeaf server",
		"RetireAnchors bundle", "UpdateLeafAnchors client-a", "UpdateLeafAnchors client-b", "UpdateLeafAnchors server", "DestroyPrevious signer",
	}
	if !slices.Equal(w.steps(), want) {
		t.Errorf("%v, want %v", w.steps(), want)
	}
}

// TestRepeatedAnchors: what has an anchor twice, past the guard, is written again: the bundle, and ca.crt of a leaf.
func TestRepeatedAnchors(t *testing.T) {
	for object, repeat := range map[string]func(*world){
		"bundle": func(w *world) { w.d.Bundle.Repeats = true },
		"server": func(w *world) { w.leaf("server").Anchors, w.leaf("server").AnchorsRepeat = w.d.Bundle.Anchors, true },
	} {
		w := bootstrapped(t)
		if actions := w.assess().Actions; len(actions) > 0 {
			t.Fatalf("%s: at rest %+v is to do", object, actions)
		}
		repeat(w)
		actions := w.assess().Actions
		if len(actions) != 1 || actions[0].Object != object || actions[0].Irreversible || !slices.EqualFunc(actions[0].Anchors, w.d.Bundle.Anchors, (*pki.Certificate).Equal) {
			t.Errorf("%s: %+v", object, actions)
		}
	}
}

// heldBy fails unless the Secret of a leaf, and nothing else, holds next until it is cured.
func heldBy(w *world, l *Leaf, cure func()) error {
	for range 6 {
		w.settle()
		w.reloadAll()
	}
	a := w.assess()
	if !slices.ContainsFunc(a.Blockers, func(b Blocker) bool {
		return b.Object == secret(l.Name) && strings.Contains(b.Message, "not written as it is")
	}) {
		return fmt.Errorf("blockers %v", a.Blockers)
	}
	if slices.ContainsFunc(w.d.Bundle.Anchors, w.d.Signer.Next.Equal) {
		return errors.New("the bundle has next, and a Secret lacks it")
	}
	cure()
	for range 12 {
		w.settle()
		w.reloadAll()
	}
	if a := w.assess(); a.Stage != Stable {
		return fmt.Errorf("no end: %s", outline(a))
	}
	return nil
}

// TestAnchorsBesideAreHeldTo: ca.crt is changed past the guard.
func TestAnchorsBesideAreHeldTo(t *testing.T) {
	nextOf := func(w *world) *pki.Certificate { return w.d.Signer.Next }
	without := func(w *world, leaf string, ca *pki.Certificate) {
		l := w.leaf(leaf)
		l.Anchors = slices.DeleteFunc(slices.Clone(l.Anchors), ca.Equal)
	}
	for _, tt := range []struct {
		name string
		tell func(w *world) error
	}{
		{"one that lost next holds the promotion, and gets it back", func(w *world) error {
			publishedNext(w)
			w.reloadAll()
			without(w, "client-a", nextOf(w))
			a := w.assess()
			if !slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Object == "Secret/client-a" && strings.Contains(b.Message, "ca.crt") }) {
				return fmt.Errorf("blockers %v", a.Blockers)
			}
			if len(a.Actions) != 1 || a.Actions[0].Kind != UpdateLeafAnchors || a.Actions[0].Irreversible {
				return fmt.Errorf("actions %v", a.Actions)
			}
			return nil
		}},
		{"one that cannot be written holds next until it is made anew", func(w *world) error {
			w.request("test")
			w.perform(&w.assess().Actions[0])
			l := w.leaf("client-a")
			l.Immutable = true
			return heldBy(w, l, func() { l.Immutable = false })
		}},
		{"one that cannot be read holds next until it is made anew", func(w *world) error {
			w.request("test")
			w.perform(&w.assess().Actions[0])
			l := w.leaf("client-a")
			l.Problem, l.Certificate = &Problem{Object: "Secret/client-a", Reason: ReasonUnparsable, Message: "no PEM"}, nil
			return heldBy(w, l, func() { deleteLeaf("client-a")(&w.d) })
		}},
		{"one that cannot be written does not hold what is in use", func(w *world) error {
			active := w.d.Signer.Active
			deleteBundle(&w.d)
			without(w, "client-a", active)
			w.leaf("client-a").Immutable = true
			w.settle()
			if !slices.ContainsFunc(w.d.Bundle.Anchors, active.Equal) {
				return errors.New("the bundle is not rebuilt")
			}
			return nil
		}},
		{"one that is not named any more gets it while a member presents it", func(w *world) error {
			publishedNext(w)
			w.reloadAll()
			without(w, "client-a", nextOf(w))
			w.leaf("client-a").Unnamed = true
			if actions := w.assess().Actions; len(actions) != 1 || actions[0].Kind != UpdateLeafAnchors {
				return fmt.Errorf("actions %v", actions)
			}
			return nil
		}},
		{"one that has none gets none", func(w *world) error {
			w.leaf("client-a").Anchors = nil
			w.request("test")
			w.settle()
			if len(w.leaf("client-a").Anchors) > 0 {
				return errors.New("it has anchors")
			}
			return nil
		}},
		{"a stranger among them goes, confirmed", func(w *world) error {
			l := w.leaf("client-a")
			l.Anchors = append(slices.Clone(l.Anchors), foreign(w))
			if actions := w.assess().Actions; len(actions) != 1 || !actions[0].Irreversible || len(actions[0].Anchors) != 1 {
				return fmt.Errorf("actions %v", actions)
			}
			return nil
		}},
		{"an abort takes next away again", func(w *world) error {
			w.request("test")
			for !slices.Contains(w.done, "UpdateLeafAnchors client-a") {
				actions := w.assess().Actions
				w.perform(&actions[0])
			}
			w.abort()
			a := w.settle()
			if a.Stage != Stable || len(w.leaf("client-a").Anchors) != 1 {
				return fmt.Errorf("stage %s, %d anchors", a.Stage, len(w.leaf("client-a").Anchors))
			}
			return nil
		}},
		{"a lost bundle is rebuilt at once", func(w *world) error {
			inStage(Draining)(w)
			deleteBundle(&w.d)
			if actions := w.assess().Actions; len(actions) != 1 || actions[0].Kind != PublishAnchors {
				return fmt.Errorf("actions %v", actions)
			}
			return nil
		}},
		{"a lost bundle is rebuilt without next until every leaf has that", func(w *world) error {
			w.request("test")
			for w.d.Signer.Next == nil {
				actions := w.assess().Actions
				w.perform(&actions[0])
			}
			deleteBundle(&w.d)
			actions := w.assess().Actions
			publish := slices.IndexFunc(actions, func(x Action) bool { return x.Kind == PublishAnchors })
			if publish < 0 || slices.ContainsFunc(actions[publish].Anchors, nextOf(w).Equal) {
				return fmt.Errorf("actions %v", actions)
			}
			w.perform(&actions[publish])
			if w.settle(); !slices.ContainsFunc(w.d.Bundle.Anchors, nextOf(w).Equal) {
				return fmt.Errorf("next is not published: %v", w.assess().Blockers)
			}
			return nil
		}},
		{"a grace counts without the Secret where the CA has expired that could bring it back", func(w *world) error {
			p := w.party("client-a")
			p.Kind, p.Grace = GracePeriod, time.Minute
			publishedNext(w)
			short := w.renewed(w.d.Signer.Active, func(c *x509.Certificate) { c.NotAfter = w.now.Add(time.Minute) })
			w.d.Bundle.Anchors[slices.IndexFunc(w.d.Bundle.Anchors, w.d.Signer.Active.Equal)] = short
			w.d.Signer.Active = short
			deleteLeaf("client-a")(&w.d)
			missing := func(b Blocker) bool { return b.Party == "client-a" && strings.Contains(b.Message, "does not exist") }
			if !slices.ContainsFunc(w.assess().Blockers, missing) {
				return fmt.Errorf("before it has expired: %v", w.assess().Blockers)
			}
			w.now = w.now.Add(time.Hour)
			if blockers := w.assess().Blockers; slices.ContainsFunc(blockers, missing) {
				return fmt.Errorf("blockers %v", blockers)
			}
			return nil
		}},
		{"a grace counts from when the Secret was there again", func(w *world) error {
			const wait = time.Hour
			p := w.party("client-a")
			p.Kind, p.Grace = GracePeriod, wait
			publishedNext(w)
			w.reloadAll()
			published := w.now
			blocked := func(reason Reason) bool {
				return slices.ContainsFunc(w.assess().Blockers, func(b Blocker) bool { return b.Party == "client-a" && b.Reason == reason })
			}
			there := *w.leaf("client-a")
			deleteLeaf("client-a")(&w.d)
			if w.now = published.Add(2 * wait); !blocked(ReasonAnchorNotLoaded) {
				return fmt.Errorf("without the Secret: %v", w.assess().Blockers)
			}
			w.now = published.Add(wait / 2)
			*w.leaf("client-a") = there
			w.leaf("client-a").Created = w.now
			for _, at := range []struct {
				now   time.Time
				waits bool
			}{{published.Add(wait + time.Minute), true}, {published.Add(wait + wait/2), false}} {
				w.now = at.now
				w.reloadAll()
				if blocked(ReasonGracePeriod) != at.waits {
					return fmt.Errorf("after %s: %v", w.now.Sub(published), w.assess().Blockers)
				}
			}
			return nil
		}},
		{"a copy of the Secret waits for them", func(w *world) error {
			without(w, "client-a", w.d.Signer.Active)
			w.leaf("client-a").Anchors = append(w.leaf("client-a").Anchors, foreign(w))
			record(&w.leaf("client-a").Object, Metadata{Annotations: map[string]string{AnnotationConfiguration: w.d.Configuration}})
			if a := AssessLeafCopy(&w.d, "client-a", w.now); len(a.Blockers) != 1 || !strings.Contains(a.Blockers[0].Message, "ca.crt") {
				return fmt.Errorf("blockers %v", a.Blockers)
			}
			return nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.tell(bootstrappedBeside(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestJudgeLeafAnchors(t *testing.T) {
	keeping := func(which func(w *world, ca *pki.Certificate) bool) func(*world, *Domain) {
		return func(w *world, d *Domain) {
			l := leafOf(d, "client-a")
			l.Anchors = slices.DeleteFunc(slices.Clone(l.Anchors), func(ca *pki.Certificate) bool { return !which(w, ca) })
		}
	}
	beside := func(then func(w *world)) func(w *world) {
		return func(w *world) {
			*w = *bootstrappedBeside(w.t)
			if then != nil {
				then(w)
			}
		}
	}
	nothing := func(*world, *pki.Certificate) bool { return false }
	for _, tt := range []judgement{
		{name: "none are left at rest", before: beside(nil), edit: keeping(nothing), invariant: AnchorInUse, object: "Secret/client-a",
			affected: []string{"Secret/client-a", "Secret/client-b", "Secret/server", "Secret/signer"}, says: "ca.crt", way: "ConfigMap/bundle"},
		{name: "next is gone while it is distributed", before: beside(publishedNext), invariant: AnchorInUse, object: "Secret/client-a",
			edit:     keeping(func(w *world, ca *pki.Certificate) bool { return !same(ca, w.d.Signer.Next) }),
			affected: []string{"Secret/signer"}, says: "ca.crt", way: "ConfigMap/bundle"},
		{name: "the former one is gone while its leaves may be presented", before: beside(inStage(Draining)), invariant: AnchorInUse, object: "Secret/client-a",
			edit:     keeping(func(w *world, ca *pki.Certificate) bool { return same(ca, w.d.Signer.Active) }),
			affected: []string{"client-a", "client-b", "server"}, says: "ca.crt", way: "ConfigMap/bundle"},
		{name: "a stranger is added", before: beside(nil), edit: func(w *world, d *Domain) {
			l := leafOf(d, "client-a")
			l.Anchors = append(slices.Clone(l.Anchors), foreign(w))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t) })
	}
}

func TestJudgeLeafSuperseded(t *testing.T) {
	listing := func(hashes ...string) func(*world, *Domain) {
		return func(_ *world, d *Domain) { leafOf(d, "client-a").Superseded = hashes }
	}
	third := func(w *world) {
		w.leaf("client-a").ContentHash, w.leaf("client-a").Superseded = "third", []string{"second", "first"}
	}
	for _, tt := range []judgement{
		{name: "as it was", before: third, edit: listing("second", "first")},
		{name: "the next content", before: third, edit: listing("third", "second", "first")},
		{name: "none any more", before: third, edit: listing(), invariant: ContentDecides, object: "Secret/client-a", says: "superseded-contents", way: "leave the key"},
		{name: "others", before: third, edit: listing("other"), invariant: ContentDecides, object: "Secret/client-a", says: "superseded-contents", way: "leave the key"},
		{name: "with another certificate", before: third, edit: func(w *world, d *Domain) {
			l := leafOf(d, "client-a")
			l.Certificate, l.Superseded = signedLeaf(w, "client-a", w.d.Signer.Active), nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(t) })
	}
}
