// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/pki"
	"certrotation.dev/test/property"
)

// paced returns a domain of n leaves with one verifier, which loads whatever is published at once. Its clock
// stands two minutes after the bootstrap, so that this does not count for the pace.
func paced(t rapid.TB, n, perMinute int) (*world, map[string]*Leaf) {
	w := newWorld(t)
	w.d.ReissuePerMinute = perMinute
	policy := w.d.Leaves[0].Policy
	w.d.Leaves = nil
	party := Party{Name: "server", Kind: Acknowledgement, Members: []Member{{Name: "server"}}}
	for i := range n {
		p := policy
		p.Profile.Key, p.Profile.CommonName, p.Profile.DNSNames = pki.Ed25519, fmt.Sprintf("client-%05d", i), nil
		w.d.Leaves = append(w.d.Leaves, Leaf{Object: Object{Name: p.Profile.CommonName}, Policy: p})
		party.Verifies = append(party.Verifies, p.Profile.CommonName)
	}
	holders := Party{Name: "clients", Kind: None, Reason: "not what this is about", VerifiesNothing: true, Members: []Member{{Name: "clients", Holds: party.Verifies}}}
	w.d.Parties = []Party{party, holders}
	index := make(map[string]*Leaf, n)
	for i := range w.d.Leaves {
		index[w.d.Leaves[i].Name] = &w.d.Leaves[i]
	}
	for w.stepPaced(index) > 0 {
		w.reload("server")
	}
	w.now = w.now.Add(2 * time.Minute)
	w.stepPaced(index)
	w.done = nil
	return w, index
}

// stepPaced performs all actions of one assessment and returns their number. It is step without a search for each
// leaf.
func (w *world) stepPaced(leaves map[string]*Leaf) int {
	actions := w.assess().Actions
	for i := range actions {
		action := &actions[i]
		if action.Kind != IssueLeaf {
			w.perform(action)
			continue
		}
		pair, err := w.keys[action.Authority].Issue(action.Profile, w.now)
		if err != nil {
			w.t.Fatal(err)
		}
		l := leaves[action.Object]
		l.Present, l.Certificate, l.Authorities = true, pair.Certificate, pair.Chain
		record(&l.Object, MetadataOfLeaf(w.d.Name, pair.Certificate, l.Policy, w.now))
		record(&l.Object, Metadata{Annotations: action.Annotations})
		for _, key := range action.RemoveAnnotations {
			delete(l.Annotations, key)
		}
		w.done = append(w.done, "IssueLeaf "+action.Object)
	}
	return len(actions)
}

// herd keeps the times of reissues and fails if a minute has too many.
type herd struct{ at []time.Time }

func (h *herd) add(now time.Time, n, most int) error {
	for range n {
		h.at = append(h.at, now)
	}
	for len(h.at) > 0 && now.Sub(h.at[0]) >= time.Minute {
		h.at = h.at[1:]
	}
	if len(h.at) > most {
		return fmt.Errorf("%d leaves reissued in the minute before %s, want at most %d", len(h.at), now, most)
	}
	return nil
}

// TestPaceOfARotation moves the clock in steps while thousands of leaves are reissued.
func TestPaceOfARotation(t *testing.T) {
	const leaves, perMinute = 5000, 600
	w, index := paced(t, leaves, perMinute)
	w.request("test")
	began, issued, h := w.now, 0, herd{}
	for round := 0; ; round++ {
		before := len(w.done)
		for w.stepPaced(index) > 0 {
			w.reload("server")
		}
		n := 0
		for _, done := range w.done[before:] {
			if len(done) > 9 && done[:9] == "IssueLeaf" {
				n++
			}
		}
		issued += n
		if err := h.add(w.now, n, perMinute); err != nil {
			t.Fatal(err)
		}
		a := w.assess()
		if a.Stage == Stable {
			break
		}
		if round > 100 || !a.Blocked() {
			t.Fatalf("stage %s, blockers %+v after %d leaves", a.Stage, a.Blockers, issued)
		}
		if b := a.Blockers[0]; b.Reason != ReasonPaced || b.Object != "Secret/signer" {
			t.Fatalf("waits for %+v", b)
		}
		// Alternate between fixed steps and the requested rechecks.
		if round%2 == 0 {
			w.now = w.now.Add(7300 * time.Millisecond)
		} else {
			w.now = a.Recheck
		}
	}
	if issued != leaves {
		t.Errorf("%d leaves issued, want %d", issued, leaves)
	}
	if took := w.now.Sub(began); took < 8*time.Minute || took > 11*time.Minute {
		t.Errorf("the rotation took %s, want 5000/600 minutes", took)
	}
}

// TestPaceProperties: everything that can wait keeps the pace, and nothing that cannot wait is delayed. A caller
// that sleeps until Recheck reaches the end.
func TestPaceProperties(t *testing.T) {
	property.Check(t, func(t *rapid.T) {
		n, perMinute := rapid.IntRange(1, 12).Draw(t, "leaves"), rapid.IntRange(1, 5).Draw(t, "per minute")
		w, index := paced(t, n, perMinute)
		for i := range w.d.Leaves {
			l := &w.d.Leaves[i]
			switch rapid.SampledFrom([]string{"same", "policy", "request", "missing", "claims"}).Draw(t, "leaf") {
			case "policy":
				l.Policy.Profile.Organizations = []string{"changed"}
			case "request":
				w.requestFor(l.Name, "")
			case "missing":
				l.Present, l.Certificate = false, nil
			case "claims":
				l.Annotations[AnnotationIssuedAt] = "2999-01-01T00:00:00Z"
				l.Policy.Profile.Organizations = []string{"changed"}
			}
		}
		if rapid.Bool().Draw(t, "rotation") {
			w.request("test")
		}
		h := herd{}
		for round := 0; ; round++ {
			w.reload("server")
			a := w.assess()
			waiting := 0
			for i := range a.Actions {
				if a.Actions[i].Kind == IssueLeaf && !a.Actions[i].Urgent {
					waiting++
				}
			}
			for i := range w.d.Leaves {
				l := &w.d.Leaves[i]
				urgent := l.Certificate == nil || decide(&w.d, w.now).rotationRequested(&l.Object)
				listed := slices.ContainsFunc(a.Actions, func(x Action) bool { return x.Object == l.Name })
				alone := len(a.Actions) == 1 && a.Actions[0].Kind != IssueLeaf
				if urgent && !listed && !alone {
					t.Fatalf("%s cannot wait and is held back; actions %+v", l.Name, a.Actions)
				}
			}
			if err := h.add(w.now, waiting, perMinute); err != nil {
				t.Fatal(err)
			}
			if w.stepPaced(index) > 0 {
				w.now = w.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
				continue
			}
			if len(a.Blockers) == 0 {
				break
			}
			if round > 300 || a.Blockers[0].Reason != ReasonPaced || !a.Recheck.After(w.now) || a.Recheck.Sub(w.now) > paceWindow+time.Second {
				t.Fatalf("sleeps until %s at %s: %+v", a.Recheck, w.now, a.Blockers)
			}
			w.now = a.Recheck
		}
		if a := w.assess(); a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
			t.Fatalf("ends in the stage %s with %d anchors", a.Stage, len(w.d.Bundle.Anchors))
		}
	})
}

func TestPaceHoldsBackOnlyWhatCanWait(t *testing.T) {
	w, index := paced(t, 6, 2)
	for i := range w.d.Leaves {
		w.d.Leaves[i].Policy.Profile.Organizations = []string{"changed"}
	}
	w.requestFor(w.d.Leaves[3].Name, "")
	w.d.Leaves[4].Present, w.d.Leaves[4].Certificate = false, nil
	delete(w.d.Leaves[5].Annotations, AnnotationNotAfter)
	w.stepPaced(index)
	want := []string{"IssueLeaf client-00000", "IssueLeaf client-00001", "IssueLeaf client-00003", "IssueLeaf client-00004", "IssueLeaf client-00005"}
	if !slices.Equal(w.done, want) {
		t.Errorf("done %q", w.done)
	}
	w.perform(&w.assess().Actions[0])
	a := w.assess()
	if len(a.Actions) > 0 || len(a.Blockers) != 1 || a.Blockers[0].Message != "1 leaves wait for their turn: at most 2 are reissued in a minute" {
		t.Errorf("actions %+v, blockers %+v", a.Actions, a.Blockers)
	}
	if got := a.Recheck.Sub(w.now); got < paceWindow || got > paceWindow+time.Second {
		t.Errorf("recheck after %s", got)
	}
	w.d.Leaves[2].Certificate = w.raw(w.d.Leaves[2].Certificate, func(c *x509.Certificate) { c.NotAfter = w.now.Add(-time.Second) }, w.d.Signer.Active)
	if a := w.assess(); len(a.Actions) != 1 || !a.Actions[0].Urgent {
		t.Errorf("an expired leaf is held back: %+v", a.Actions)
	}
}

// TestRenewedPartiesArePaced: leaves whose renewal is the evidence reach their end under a pace, too.
func TestRenewedPartiesArePaced(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Renewed, Renewed, Renewed, Acknowledgement}})
	f.d.ReissuePerMinute = 1
	f.now = f.now.Add(2 * time.Minute)
	f.request("test")
	for range 200 {
		a := f.assess()
		if a.Stage == Stable && len(a.Actions) == 0 {
			break
		}
		if len(a.Actions) > 0 {
			if found := f.act(&a.Actions[0]); len(found) > 0 {
				t.Fatalf("%s %s is refused: %+v", a.Actions[0].Kind, a.Actions[0].Object, found)
			}
		} else {
			f.pass(20 * time.Second)
		}
		f.loadAll()
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
	}
	if a := f.assess(); a.Stage != Stable || len(f.d.Bundle.Anchors) != 1 {
		t.Errorf("stage %s after %v: %+v", a.Stage, f.done, a.Blockers)
	}
}
