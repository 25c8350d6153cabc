// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

// root makes the root of an authority that certrotation does not have.
func (w *world) root(name string) *pki.Pair {
	pair, err := pki.NewAuthority(pki.Profile{
		CommonName: name, Key: pki.ECDSAP256, Validity: 20 * 365 * 24 * time.Hour, Backdate: time.Hour, Subordinates: true,
	}, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	return pair
}

// under makes an intermediate, as the owner of the root does with a request.
func (w *world) under(root *pki.Pair) *pki.Certificate {
	w.now = w.now.Add(time.Second)
	p := w.d.Signer.Policy.Profile
	p.CommonName = pki.GenerationName(w.d.Namespace, w.d.Signer.Name, w.now)
	pair, err := root.IssueAuthority(p, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[pair.Certificate.Fingerprint] = pair
	return pair.Certificate
}

// underRoot returns a world in the stage Stable whose signer is an intermediate, and its root.
func underRoot(t *testing.T) (*world, *pki.Pair) {
	w := newWorld(t)
	w.beside = true
	root := w.root("Acme Root 1")
	w.d.Signer.Present, w.d.Signer.Active, w.d.Signer.Issuers = true, w.under(root), []*pki.Certificate{root.Certificate}
	w.settle()
	w.reloadAll()
	w.done = nil
	return w, root
}

func (w *world) subjects() string {
	var names []string
	for _, ca := range w.d.Bundle.Anchors {
		names = append(names, ca.CommonName)
	}
	return strings.Join(names, ", ")
}

// TestIntermediate: the root is the anchor, and the intermediate none.
func TestIntermediate(t *testing.T) {
	w, root := underRoot(t)
	a := w.settle()
	if a.Stage != Stable || len(a.Blockers)+len(a.Problems) > 0 || w.subjects() != "Acme Root 1" {
		t.Fatalf("stage %s, blockers %v, problems %v, bundle %s", a.Stage, a.Blockers, a.Problems, w.subjects())
	}
	if slot := a.Anchors[0].Slot; slot != SlotActive || a.Anchors[0].Leaves != 3 || a.Anchors[0].SafeToRemove {
		t.Errorf("the root is %s, %d leaves chain to it, safe to remove: %t", slot, a.Anchors[0].Leaves, a.Anchors[0].SafeToRemove)
	}
	for i := range w.d.Leaves {
		if l := &w.d.Leaves[i]; !slices.EqualFunc(l.Anchors, []*pki.Certificate{root.Certificate}, (*pki.Certificate).Equal) || !a.Leaves[i].Usable {
			t.Errorf("%s has %d anchors, usable %t", l.Name, len(l.Anchors), a.Leaves[i].Usable)
		}
	}
}

// TestSameRoot: every verifier has the root already. The next intermediate signs at once, nothing is published or
// retired, and no member has to load anything.
func TestSameRoot(t *testing.T) {
	w, root := underRoot(t)
	w.d.Signer.Next = w.under(root)
	next := w.d.Signer.Next
	a := w.settle()
	want := []string{
		"IssueLeaf client-a", "IssueLeaf client-b", "IssueLeaf server", "DestroyPrevious signer",
	}
	steps := slices.DeleteFunc(w.steps(), func(s string) bool { return strings.HasPrefix(s, "RecordMetadata") || strings.HasPrefix(s, "Promote") })
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if a.Stage != Stable || !same(w.d.Signer.Active, next) || w.subjects() != "Acme Root 1" {
		t.Errorf("stage %s, active %s, bundle %s", a.Stage, w.d.Signer.Active.Subject, w.subjects())
	}
}

// TestSameRootWaitsForEvidence: a member that was seen without the root holds the next intermediate up as any CA.
func TestSameRootWaitsForEvidence(t *testing.T) {
	w, root := underRoot(t)
	w.member("client-a").Observations = nil
	w.d.Signer.Next = w.under(root)
	a := w.settle()
	if a.Stage != Reissuing || len(a.Blockers) == 0 || a.Blockers[0].Party != "client-a" || w.leaf("server").Certificate == nil {
		t.Errorf("stage %s, blockers %v", a.Stage, a.Blockers)
	}
	if w.leaf("server").Certificate.SignedBy(w.d.Signer.Next) {
		t.Error("the server has a leaf of next, which client-a verifies")
	}
}

// TestNewRoot: the new root is distributed before the next intermediate signs, and the old one leaves last.
func TestNewRoot(t *testing.T) {
	w, first := underRoot(t)
	second := w.root("Acme Root 2")
	w.d.Signer.Next = w.under(second)
	w.d.Signer.Issuers = []*pki.Certificate{first.Certificate, second.Certificate}
	a := w.settle()
	if a.Stage != Distributing || w.subjects() != "Acme Root 1, Acme Root 2" || len(a.Blockers) != 3 {
		t.Fatalf("stage %s, bundle %s, blockers %v", a.Stage, w.subjects(), a.Blockers)
	}
	if text := a.Blockers[0].Message; !strings.Contains(text, "Acme Root 2") {
		t.Errorf("the blocker does not name the root: %s", text)
	}
	if slot := a.Anchors[1].Slot; slot != SlotNext {
		t.Errorf("the new root is %s", slot)
	}
	w.reloadAll()
	if a = w.settle(); a.Stage != Draining || a.Anchors[0].Slot != SlotPrevious {
		t.Fatalf("stage %s, old root %s", a.Stage, a.Anchors[0].Slot)
	}
	w.reloadAll()
	if a = w.settle(); a.Stage != Stable || w.subjects() != "Acme Root 2" {
		t.Errorf("stage %s, bundle %s, blockers %v", a.Stage, w.subjects(), a.Blockers)
	}
	index := func(step string) int { return slices.Index(w.done, step) }
	if publish, issue, retire, destroy := index("PublishAnchors bundle"), index("IssueLeaf server"), index("RetireAnchors bundle"), index("DestroyPrevious signer"); publish < 0 || publish > issue || issue > retire || retire > destroy {
		t.Errorf("order of %v", w.done)
	}
}

// TestAbortToOldRoot: an aborted intermediate takes its root along, and the rotation that is waived is still from the
// active CA.
func TestAbortToOldRoot(t *testing.T) {
	w, first := underRoot(t)
	second := w.root("Acme Root 2")
	w.d.Signer.Next = w.under(second)
	w.d.Signer.Issuers = []*pki.Certificate{first.Certificate, second.Certificate}
	w.settle()
	w.abort()
	w.step()
	w.step()
	if from := RotationOf(&w.d).From; from != w.d.Signer.Active.Fingerprint {
		t.Error("the rotation is from another CA than the active one")
	}
	w.reloadAll()
	if a := w.settle(); a.Stage != Stable || w.subjects() != "Acme Root 1" {
		t.Errorf("stage %s, bundle %s", a.Stage, w.subjects())
	}
}

// TestUnknownRoot: as long as its root is not known, an intermediate is an anchor itself. Once it is known, the root is
// published too, and the anchor that verifiers may have alone stays until its rotation.
func TestUnknownRoot(t *testing.T) {
	w := newWorld(t)
	w.beside = true
	root := w.root("Acme Root")
	w.d.Signer.Present, w.d.Signer.Active = true, w.under(root)
	w.settle()
	w.reloadAll()
	a := w.settle()
	if a.Stage != Stable || len(a.Problems) != 1 || a.Problems[0].Reason != ReasonRootUnknown || !w.d.Anchored(w.d.Signer.Active) {
		t.Fatalf("stage %s, problems %v", a.Stage, a.Problems)
	}
	w.d.Signer.Issuers = []*pki.Certificate{root.Certificate}
	a = w.settle()
	if a.Stage != Stable || len(a.Problems)+len(a.Blockers) > 0 || len(w.d.Bundle.Anchors) != 2 {
		t.Fatalf("stage %s, problems %v, blockers %v, bundle %s", a.Stage, a.Problems, a.Blockers, w.subjects())
	}
	// No member has loaded the root, so the next intermediate waits for it.
	w.d.Signer.Next = w.under(root)
	if a = w.settle(); len(a.Blockers) != 3 || w.leaf("server").Certificate.SignedBy(w.d.Signer.Next) {
		t.Fatalf("blockers %v", a.Blockers)
	}
	for range 3 {
		w.reloadAll()
		a = w.settle()
	}
	if a.Stage != Stable || w.subjects() != "Acme Root" {
		t.Errorf("stage %s, bundle %s, blockers %v", a.Stage, w.subjects(), a.Blockers)
	}
}

// TestRefusedPath: an intermediate whose root verifiers do not follow signs nothing.
func TestRefusedPath(t *testing.T) {
	w, first := underRoot(t)
	short := w.root("Short Root")
	w.keys[short.Certificate.Fingerprint] = short
	w.d.Signer.Next = w.under(short)
	// The root that is known permits no authority below it.
	forbids := w.raw(short.Certificate, func(c *x509.Certificate) { c.MaxPathLen, c.MaxPathLenZero = 0, true }, nil)
	w.d.Signer.Issuers = []*pki.Certificate{first.Certificate, forbids}
	w.settle()
	w.reloadAll()
	a := w.settle()
	if a.Stage != Distributing || len(a.Blockers) != 3 || a.Blockers[0].Reason != ReasonUnfitSigner ||
		!strings.Contains(a.Blockers[0].Message, "the path length of CN=Short Root permits 0") {
		t.Errorf("stage %s, blockers %v", a.Stage, a.Blockers)
	}
	before := w.clone()
	before.Signer.Next = nil
	found := Judge(before, w.clone(), w.now)
	if len(found) == 0 || !strings.Contains(found[0].Message, "path length") {
		t.Errorf("the guard admits it: %v", found)
	}
}

// TestRebuiltUnderRoot: a lost bundle is rebuilt with the root.
func TestRebuiltUnderRoot(t *testing.T) {
	w, _ := underRoot(t)
	deleteBundle(&w.d)
	w.settle()
	if w.subjects() != "Acme Root 1" {
		t.Errorf("bundle %s", w.subjects())
	}
}

// TestLeafWithinRoot: a leaf ends with the first certificate on its path, here a root with half a year left.
func TestLeafWithinRoot(t *testing.T) {
	w, _ := underRoot(t)
	old := w.root("Old Root")
	w.keys[old.Certificate.Fingerprint] = old
	w.d.Signer.Active = w.under(old)
	ends := w.raw(old.Certificate, func(c *x509.Certificate) { c.NotAfter = w.now.Add(180 * day) }, nil)
	w.d.Signer.Issuers = []*pki.Certificate{ends}
	w.settle()
	w.reloadAll()
	w.settle()
	c := w.leaf("server").Certificate
	if !c.SignedBy(w.d.Signer.Active) || c.NotAfter.After(ends.NotAfter) {
		t.Errorf("%s of %s ends at %s, after its root", c.Subject, c.Issuer, c.NotAfter)
	}
	w.done = nil
	if w.settle(); len(w.done) > 0 {
		t.Errorf("it is issued again and again: %v", w.done)
	}
}

func TestJudgeIssuers(t *testing.T) {
	w, root := underRoot(t)
	other := w.root("Acme Root 2")
	edit := func(change func(*Domain)) []Violation {
		d := w.clone()
		change(d)
		return Judge(&w.d, d, w.now)
	}
	tests := map[string]struct {
		edit      func(*Domain)
		invariant Invariant
		says      string
	}{
		"the root leaves the bundle": {func(d *Domain) { d.Bundle.Anchors = []*pki.Certificate{other.Certificate} }, AnchorInUse, "Acme Root 1"},
		"the bundle is lost":         {deleteBundle, "", ""},
		"the root is forgotten":      {func(d *Domain) { d.Signer.Issuers = nil }, TrustBeforeUse, "in place of its root"},
		"an issuer is added": {func(d *Domain) {
			d.Signer.Issuers = []*pki.Certificate{root.Certificate, other.Certificate}
		}, "", ""},
		"an intermediate of the root takes over at once": {func(d *Domain) {
			d.Signer.Previous, d.Signer.Active = []*pki.Certificate{d.Signer.Active}, w.under(root)
		}, "", ""},
		"an intermediate of another root takes over": {func(d *Domain) {
			d.Signer.Previous, d.Signer.Active = []*pki.Certificate{d.Signer.Active}, w.under(other)
			d.Signer.Issuers = []*pki.Certificate{root.Certificate, other.Certificate}
		}, TrustBeforeUse, "before every verifier"},
		"a self-signed successor, by a person": {func(d *Domain) { d.Signer.Next = foreign(w) }, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			found := edit(tt.edit)
			switch {
			case tt.says == "" && len(found) > 0:
				t.Errorf("refused: %v", found)
			case tt.says != "" && (len(found) == 0 || found[0].Invariant != tt.invariant || !strings.Contains(found[0].Message, tt.says)):
				t.Errorf("%v, want %s %q", found, tt.invariant, tt.says)
			}
		})
	}
}
