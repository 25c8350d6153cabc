// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

func TestParseCopiesFrom(t *testing.T) {
	secret := AcceptedCopy{From: "demo", Kind: SecretKind, Name: "client"}
	bundle := AcceptedCopy{From: "demo", Kind: ConfigMapKind, Name: "ca.bundle"}
	tests := []struct {
		name, text string
		accepted   []AcceptedCopy
		refused    []string
	}{
		{name: "nothing"},
		{name: "commas only", text: " , ,"},
		{name: "two", text: "demo/Secret/client, demo/ConfigMap/ca.bundle", accepted: []AcceptedCopy{secret, bundle}},
		{name: "a whole namespace", text: "demo", refused: []string{"demo"}},
		{name: "everything", text: "*, */*/*, demo/*/client, demo/Secret/*", refused: []string{"*", "*/*/*", "demo/*/client", "demo/Secret/*"}},
		{name: "another kind", text: "demo/secret/client,demo/Pod/client", refused: []string{"demo/secret/client", "demo/Pod/client"}},
		{name: "no name", text: "demo/Secret/", refused: []string{"demo/Secret/"}},
		{name: "a path", text: "demo/Secret/../client", refused: []string{"demo/Secret/../client"}},
		{name: "a bad one takes no other with it", text: "demo,demo/Secret/client", accepted: []AcceptedCopy{secret}, refused: []string{"demo"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			accepted, faults := ParseCopiesFrom(tt.text)
			var refused []string
			for _, f := range faults {
				refused = append(refused, f.Entry)
				if f.Why == "" {
					t.Errorf("%q is refused for no reason", f.Entry)
				}
			}
			if diff := cmp.Diff(tt.accepted, accepted); diff != "" {
				t.Errorf("accepted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.refused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseCopiesFromIsBounded(t *testing.T) {
	accepted, refused := ParseCopiesFrom(strings.Repeat("demo/Secret/client,", MaxAcceptedCopies) + strings.Repeat("ä", 1000) + ",demo/Secret/last")
	if len(accepted) != MaxAcceptedCopies || len(refused) != 1 {
		t.Fatalf("%d accepted, %d refused", len(accepted), len(refused))
	}
	if r := refused[0].Entry; len(r) > 100 || !utf8.ValidString(r) {
		t.Errorf("an entry of %d bytes is shown", len(r))
	}
}

func FuzzParseCopiesFrom(f *testing.F) {
	f.Add("demo/Secret/client, demo")
	f.Fuzz(func(t *testing.T, text string) {
		accepted, refused := ParseCopiesFrom(text)
		if len(accepted)+len(refused) > MaxAcceptedCopies+1 {
			t.Errorf("%d entries", len(accepted)+len(refused))
		}
		for _, a := range accepted {
			if again, _ := ParseCopiesFrom(a.String()); len(again) != 1 || again[0] != a {
				t.Errorf("%s is read as %v", a, again)
			}
		}
	})
}

func TestJudgeCopy(t *testing.T) {
	copied := AcceptedCopy{From: "demo", Kind: SecretKind, Name: "client"}
	tests := []struct {
		name    string
		edit    func(c *CopyConsent)
		verdict CopyVerdict
		says    string
	}{
		{name: "accepted and asked for", verdict: CopyAllowed},
		{name: "within the namespace nobody else is asked", edit: func(c *CopyConsent) { c.Destination, c.Accepted = "demo", "" }, verdict: CopyAllowed},
		{name: "not accepted", edit: func(c *CopyConsent) { c.Accepted = "" }, verdict: CopyWithdrawn, says: "adding demo/Secret/client to its annotation certrotation.dev/copies-from"},
		{name: "another name", edit: func(c *CopyConsent) { c.Accepted = "demo/Secret/client2" }, verdict: CopyWithdrawn, says: "does not accept Secret/client from namespace demo"},
		{name: "another kind", edit: func(c *CopyConsent) { c.Accepted = "demo/ConfigMap/client" }, verdict: CopyWithdrawn, says: "does not accept"},
		{name: "another namespace", edit: func(c *CopyConsent) { c.Accepted = "demo2/Secret/client" }, verdict: CopyWithdrawn, says: "does not accept"},
		{name: "the same namespace of another cluster, not accepted", edit: func(c *CopyConsent) {
			c.Cluster, c.Destination, c.Accepted = "east", "demo", ""
		}, verdict: CopyWithdrawn, says: "namespace demo of cluster east does not accept Secret/client from namespace demo"},
		{name: "the same namespace of another cluster, accepted", edit: func(c *CopyConsent) { c.Cluster, c.Destination = "east", "demo" }, verdict: CopyAllowed},
		{name: "another cluster, and the source's namespace is not managed", edit: func(c *CopyConsent) {
			c.Cluster, c.Destination, c.SourceManaged = "east", "demo", false
		}, verdict: CopyWithdrawn, says: "certrotation.dev/managed=true"},
		{name: "the whole namespace", edit: func(c *CopyConsent) { c.Accepted = "demo" }, verdict: CopyWithdrawn, says: `("demo" is not of the form`},
		{name: "what is wrong about others is not told", edit: func(c *CopyConsent) { c.Accepted = "secretive" }, verdict: CopyWithdrawn, says: "from namespace demo; its owner"},
		{name: "not asked for any more", edit: func(c *CopyConsent) { c.Asked = false }, verdict: CopyWithdrawn, says: "no configuration of namespace demo"},
		{name: "perhaps asked for", edit: func(c *CopyConsent) { c.Asked, c.Unreadable = false, []string{"web"} }, verdict: CopyUndecided, says: "web cannot be read"},
		{name: "perhaps asked for, and not accepted", edit: func(c *CopyConsent) {
			c.Asked, c.Unreadable, c.Accepted = false, []string{"web"}, ""
		}, verdict: CopyWithdrawn, says: "does not accept"},
		{name: "the source's namespace is not managed", edit: func(c *CopyConsent) { c.SourceManaged = false }, verdict: CopyWithdrawn, says: "certrotation.dev/managed=true"},
		{name: "a namespace that is not managed is not written to", edit: func(c *CopyConsent) {
			c.SourceManaged, c.Destination = false, "demo"
		}, verdict: CopyUndecided, says: "nothing is written in it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &CopyConsent{Copy: copied, Destination: "elsewhere", SourceManaged: true, Asked: true, Accepted: "other/Secret/x, demo/Secret/client"}
			if tt.edit != nil {
				tt.edit(c)
			}
			verdict, says := JudgeCopy(c)
			if verdict != tt.verdict || !strings.Contains(says, tt.says) || (says == "") != (verdict == CopyAllowed) {
				t.Errorf("got %d %q, want %d %q", verdict, says, tt.verdict, tt.says)
			}
		})
	}
}

// TestAssessBundleCopy: the copy holds the content that the bundle had before an edit.
func TestAssessBundleCopy(t *testing.T) {
	const bundle = "ConfigMap/bundle"
	cut := func(keep ...int) func(w *world) {
		return func(w *world) {
			var anchors []*pki.Certificate
			for _, i := range keep {
				anchors = append(anchors, w.d.Bundle.Anchors[i])
			}
			w.d.Bundle.Anchors = anchors
		}
	}
	tests := []struct {
		name string
		// before runs until the copy is made. edit changes the bundle afterwards.
		before, edit func(w *world)
		// anchors is how many the copy must hold, and kept how many of them the bundle has lost.
		anchors, kept int
		reason        Reason
	}{
		{name: "nothing changed", anchors: 1},
		{name: "a rotation begins", edit: func(w *world) { w.request("test"); w.settle() }, anchors: 2},
		{name: "a foreign anchor was added", edit: func(w *world) { w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, foreign(w)) }, anchors: 2},
		{name: "a foreign anchor that nothing needs was removed", before: func(w *world) { w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, foreign(w)) },
			edit: cut(0), anchors: 1},
		{name: "the active anchor was removed", before: publishedNext, edit: cut(1), anchors: 2, kept: 1},
		{name: "the next anchor was removed", before: publishedNext, edit: cut(0), anchors: 2, kept: 1},
		{name: "the previous anchor was removed while it is presented", before: inStage(Draining), edit: cut(1), anchors: 2, kept: 1},
		{name: "the previous anchor was retired", before: inStage(Draining), edit: func(w *world) { w.reloadAll(); w.settle() }, anchors: 1},
		{name: "a retired anchor while a member is not observed", before: inStage(Draining), edit: func(w *world) {
			w.reloadAll()
			w.settle()
			w.member("server").Observations = nil
		}, anchors: 2, kept: 1},
		{name: "the bundle is gone", edit: func(w *world) { deleteBundle(&w.d) }, reason: ReasonMissing},
		{name: "the bundle is empty", edit: func(w *world) { w.d.Bundle.Anchors = nil }, reason: ReasonMissing},
		{name: "the bundle cannot be read", edit: func(w *world) { w.d.Bundle.Problem = &Problem{Object: bundle, Reason: ReasonUnparsable} },
			reason: ReasonObjectProblem},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			if tt.before != nil {
				tt.before(w)
			}
			held := slices.Clone(w.d.Bundle.Anchors)
			if tt.edit != nil {
				tt.edit(w)
			}
			got := AssessBundleCopy(&w.d, held, w.now)
			if tt.reason != "" {
				if len(got.Blockers) != 1 || got.Blockers[0].Reason != tt.reason || got.Blockers[0].Object != bundle || len(got.Anchors) > 0 {
					t.Errorf("got %+v, want to wait for %s", got, tt.reason)
				}
				return
			}
			if len(got.Blockers) > 0 || len(got.Anchors) != tt.anchors || len(got.Kept) != tt.kept {
				t.Errorf("%d anchors, %d kept, blockers %v; want %d and %d", len(got.Anchors), len(got.Kept), got.Blockers, tt.anchors, tt.kept)
			}
			for i, ca := range w.d.Bundle.Anchors {
				if !got.Anchors[i].Equal(ca) {
					t.Errorf("anchor %d is not that of the bundle", i)
				}
			}
			for _, k := range got.Kept {
				if len(k.NeededBy) == 0 || !slices.ContainsFunc(held, k.Certificate.Equal) {
					t.Errorf("%s is kept for nobody", k.Certificate.Subject)
				}
			}
		})
	}
}

func TestAssessLeafCopy(t *testing.T) {
	sign := func(ca func(w *world) *pki.Certificate) func(w *world) {
		return func(w *world) { w.leaf("server").Certificate = signedLeaf(w, "server", ca(w)) }
	}
	next := func(w *world) *pki.Certificate { return w.d.Signer.Next }
	tests := []struct {
		name   string
		edit   func(w *world)
		reason Reason
		// waits are the members that block the copy.
		waits []string
	}{
		{name: "as it was issued"},
		{name: "reissued by the next CA", edit: func(w *world) { inStage(Draining)(w) }},
		{name: "of the previous CA, still to be reissued", edit: func(w *world) {
			publishedNext(w)
			w.reload("server")
			w.settle()
		}},
		{name: "put there before its verifiers trust the CA", edit: func(w *world) { publishedNext(w); sign(next)(w) },
			reason: ReasonAnchorNotLoaded, waits: []string{"client-a", "client-b"}},
		{name: "of a CA in the bundle that nobody has loaded", edit: func(w *world) {
			ca := foreign(w)
			w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, ca)
			sign(func(*world) *pki.Certificate { return ca })(w)
		}, reason: ReasonAnchorNotLoaded, waits: []string{"client-a", "client-b"}},
		{name: "of a CA that nobody knows", edit: sign(foreign), reason: ReasonUnknownSigner},
		{name: "of a CA that only the Secret itself carries", edit: func(w *world) {
			ca := foreign(w)
			sign(func(*world) *pki.Certificate { return ca })(w)
			w.leaf("server").Authorities = []*pki.Certificate{ca}
		}, reason: ReasonAnchorNotLoaded, waits: []string{""}},
		{name: "a CA in its place", edit: func(w *world) { w.leaf("server").Certificate = w.d.Signer.Active }, reason: ReasonUnknownSigner},
		{name: "one that outlives its signer", edit: func(w *world) {
			l := w.leaf("server")
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.NotAfter = w.d.Signer.Active.NotAfter.Add(time.Second) }, w.d.Signer.Active)
		}, reason: ReasonUnknownSigner},
		{name: "an expired one", edit: func(w *world) { w.now = w.now.Add(2 * 365 * 24 * time.Hour) }, reason: ReasonExpired},
		{name: "one that is not valid yet", edit: func(w *world) { w.now = w.now.Add(-time.Hour) }, reason: ReasonExpired},
		{name: "gone", edit: func(w *world) { deleteLeaf("server")(&w.d) }, reason: ReasonMissing},
		{name: "unreadable", edit: func(w *world) { w.leaf("server").Certificate = nil }, reason: ReasonUnparsable},
		{name: "with the key of another", edit: func(w *world) { w.leaf("server").Problem = &Problem{Reason: ReasonKeyMismatch} }, reason: ReasonKeyMismatch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := bootstrapped(t)
			if tt.edit != nil {
				tt.edit(w)
			}
			got := AssessLeafCopy(&w.d, "server", w.now)
			if tt.reason == "" {
				if len(got.Blockers) > 0 {
					t.Fatalf("held: %+v", got.Blockers)
				}
				return
			}
			if len(got.Blockers) == 0 {
				t.Fatal("it may be copied")
			}
			if tt.waits == nil {
				if got.Blockers[0].Reason != tt.reason {
					t.Errorf("got %+v, want %s", got.Blockers, tt.reason)
				}
				return
			}
			var waits []string
			for _, b := range got.Blockers {
				waits = append(waits, b.Member)
				if b.Reason != tt.reason {
					t.Errorf("got %+v, want %s", b, tt.reason)
				}
			}
			if diff := cmp.Diff(tt.waits, waits); diff != "" {
				t.Errorf("waits for (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAssessLeafCopyFollowsTheController: during a rotation, every leaf may be copied as soon as it is issued.
func TestAssessLeafCopyFollowsTheController(t *testing.T) {
	w := bootstrapped(t)
	w.request("test")
	for range 40 {
		actions := w.assess().Actions
		if len(actions) == 0 {
			w.reloadAll()
		}
		for i := range actions {
			w.perform(&actions[i])
			if actions[i].Kind != IssueLeaf {
				continue
			}
			if got := AssessLeafCopy(&w.d, actions[i].Object, w.now); len(got.Blockers) > 0 {
				t.Errorf("%s was issued and may not be copied: %+v", actions[i].Object, got.Blockers)
			}
		}
	}
	if stage := w.assess().Stage; stage != Stable {
		t.Fatalf("the rotation is in the stage %s", stage)
	}
}

func TestAssessLeafCopyOfNoLeaf(t *testing.T) {
	w := bootstrapped(t)
	if got := AssessLeafCopy(&w.d, "nobody", w.now); len(got.Blockers) != 1 || got.Blockers[0].Reason != ReasonMissing {
		t.Errorf("got %+v", got)
	}
}

// TestFollowBundles: a leaf waits for each copy of its bundle that does not hold its CA.
func TestFollowBundles(t *testing.T) {
	w := bootstrapped(t)
	ca, other := w.d.Signer.Active, foreign(w)
	held := func(anchors ...*pki.Certificate) BundleCopy {
		return BundleCopy{Object: "ConfigMap/there", Anchors: anchors}
	}
	for _, tc := range []struct {
		name    string
		bundles []BundleCopy
		waits   int
	}{
		{name: "no copy of the bundle"},
		{name: "a copy with the CA", bundles: []BundleCopy{held(other, ca)}},
		{name: "a copy with another CA", bundles: []BundleCopy{held(other)}, waits: 1},
		{name: "a copy that is not known, and one with the CA", bundles: []BundleCopy{held(), held(ca)}, waits: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := AssessLeafCopy(&w.d, w.d.Leaves[0].Name, w.now)
			a.FollowBundles(tc.bundles)
			if len(a.Blockers) != tc.waits || tc.waits > 0 && a.Blockers[0].Reason != ReasonAnchorNotLoaded {
				t.Errorf("blockers %v", a.Blockers)
			}
		})
	}
}
