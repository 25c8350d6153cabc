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
)

// judgement is one edit and the expected verdict of Judge.
type judgement struct {
	name string
	// before brings the world from the stage Stable to the state before the edit.
	before func(w *world)
	edit   func(w *world, d *Domain)
	// invariant that the edit violates, "" if it is admitted.
	invariant Invariant
	object    string
	affected  []string
	// says is part of the message, and way part of the safe way.
	says, way string
}

func (j *judgement) run(t *testing.T) {
	t.Helper()
	w := bootstrapped(t)
	if j.before != nil {
		j.before(w)
	}
	after := w.clone()
	j.edit(w, after)
	found := Judge(w.clone(), after, w.now)
	if j.invariant == "" {
		if len(found) > 0 {
			t.Fatalf("refused: %+v", found)
		}
		return
	}
	at := slices.IndexFunc(found, func(v Violation) bool { return v.Invariant == j.invariant && v.Object == j.object })
	if at < 0 {
		t.Fatalf("want %s of %s, got %+v", j.invariant, j.object, found)
	}
	v := found[at]
	if diff := cmp.Diff(j.affected, v.Affected); diff != "" {
		t.Errorf("affected (-want +got):\n%s", diff)
	}
	if !strings.Contains(v.Message, j.says) || v.Message == "" {
		t.Errorf("message %q does not say %q", v.Message, j.says)
	}
	if !strings.Contains(v.SafeWay, j.way) || v.SafeWay == "" {
		t.Errorf("safe way %q does not say %q", v.SafeWay, j.way)
	}
}

func leafOf(d *Domain, name string) *Leaf {
	return &d.Leaves[slices.IndexFunc(d.Leaves, func(l Leaf) bool { return l.Name == name })]
}

// inStage performs a rotation until the stage is reached. All members load whenever no action is left.
func inStage(stage Stage) func(w *world) {
	return func(w *world) {
		w.request("test")
		for range 40 {
			if w.assess().Stage == stage && !decide(&w.d, w.now).rotationRequested(&w.d.Signer.Object) {
				return
			}
			actions := w.assess().Actions
			if len(actions) == 0 {
				w.reloadAll()
				continue
			}
			w.perform(&actions[0])
		}
		w.t.Fatalf("never in the stage %s", stage)
	}
}

func TestJudgeLeaf(t *testing.T) {
	clients := []string{"client-a", "client-b"}
	tests := []judgement{
		{name: "a leaf of a foreign CA", edit: func(w *world, d *Domain) {
			leafOf(d, "server").Certificate = signedLeaf(w, "server", foreign(w))
		}, invariant: TrustBeforeUse, object: "Secret/server", affected: clients, says: "no anchor of ConfigMap/bundle", way: "delete Secret/server"},
		{name: "the CA itself as a leaf", edit: func(w *world, d *Domain) {
			leafOf(d, "server").Certificate = w.d.Signer.Active
		}, invariant: LeafWithinSigner, object: "Secret/server", says: "certificate authority", way: "delete Secret/server"},
		{name: "a leaf of a CA in the bundle that nobody has loaded", edit: func(w *world, d *Domain) {
			leafOf(d, "server").Certificate = signedLeaf(w, "server", w.d.Bundle.Anchors[1])
		}, before: func(w *world) { w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, foreign(w)) },
			invariant: TrustBeforeUse, object: "Secret/server", affected: clients, says: "evidence of trust is missing", way: "delete Secret/server"},
		{name: "a leaf of a foreign CA that its verifiers have loaded", edit: func(w *world, d *Domain) {
			leafOf(d, "server").Certificate = signedLeaf(w, "server", w.d.Bundle.Anchors[1])
		}, before: func(w *world) {
			w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, foreign(w))
			w.reload("client-a", "client-b")
		}},
		{name: "a leaf of next before its verifier trusts it", before: inStage(Distributing), edit: func(w *world, d *Domain) {
			leafOf(d, "client-a").Certificate = signedLeaf(w, "client-a", w.d.Signer.Next)
		}, invariant: TrustBeforeUse, object: "Secret/client-a", says: "evidence", way: "blockers"},
		{name: "a leaf of next that is published and not loaded", before: publishedNext, edit: func(w *world, d *Domain) {
			leafOf(d, "client-a").Certificate = signedLeaf(w, "client-a", w.d.Signer.Next)
		}, invariant: TrustBeforeUse, object: "Secret/client-a", affected: []string{"server"}, says: "evidence", way: "blockers"},
		{name: "a leaf of next once its verifier trusts it", before: func(w *world) { publishedNext(w); w.reload("server") },
			edit: func(w *world, d *Domain) {
				leafOf(d, "client-a").Certificate = signedLeaf(w, "client-a", w.d.Signer.Next)
			}},
		{name: "the same leaf reissued by hand", edit: func(w *world, d *Domain) {
			leafOf(d, "server").Certificate = signedLeaf(w, "server", w.d.Signer.Active)
		}},
		{name: "restore of an older leaf of the active CA", before: func(w *world) { delete(w.leaf("server").Annotations, AnnotationNotAfter); w.settle() },
			edit: func(w *world, d *Domain) {
				leafOf(d, "server").Certificate = signedLeaf(w, "server", w.d.Signer.Active)
			}},
		{name: "restore of an older leaf while its anchor is there", before: inStage(Draining), edit: func(w *world, d *Domain) {
			leafOf(d, "server").Certificate = signedLeaf(w, "server", w.d.Signer.Previous[0])
		}, invariant: TrustBeforeUse, object: "Secret/server", says: "about to leave the bundle", way: "delete Secret/server"},
		{name: "restore of an older leaf when its anchor is gone", before: func(w *world) {
			inStage(Retiring)(w)
			w.step()
		}, edit: func(w *world, d *Domain) {
			leafOf(d, "server").Certificate = signedLeaf(w, "server", w.d.Signer.Previous[0])
		}, invariant: TrustBeforeUse, object: "Secret/server", says: "", way: "delete Secret/server"},
		{name: "a leaf that outlives its signer", edit: func(w *world, d *Domain) {
			l := leafOf(d, "server")
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.NotAfter = w.d.Signer.Active.NotAfter.Add(time.Second) }, w.d.Signer.Active)
		}, invariant: LeafWithinSigner, object: "Secret/server", says: "longer than its signer", way: "delete Secret/server"},
		{name: "a leaf that ends with its signer", edit: func(w *world, d *Domain) {
			l := leafOf(d, "server")
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.NotAfter = w.d.Signer.Active.NotAfter }, w.d.Signer.Active)
		}},
		{name: "the key of another certificate", edit: func(_ *world, d *Domain) {
			leafOf(d, "server").Problem = &Problem{Object: "Secret/server", Reason: ReasonKeyMismatch, Message: "tls.key does not belong to tls.crt"}
		}, invariant: PairMatches, object: "Secret/server", says: "does not belong", way: "in one update"},
		{name: "an edit that leaves the key wrong", before: func(w *world) {
			w.leaf("server").Problem = &Problem{Object: "Secret/server", Reason: ReasonKeyMismatch, Message: "tls.key does not belong to tls.crt"}
		}, edit: func(_ *world, d *Domain) { leafOf(d, "server").Annotations["certrotation.dev/note"] = "x" }},
		{name: "an edit that repairs the key", before: func(w *world) {
			w.leaf("server").Problem = &Problem{Object: "Secret/server", Reason: ReasonKeyMismatch}
		}, edit: func(_ *world, d *Domain) { leafOf(d, "server").Problem = nil }},
		{name: "a stable leaf deleted", edit: func(_ *world, d *Domain) { deleteLeaf("server")(d) }},
		{name: "a leaf deleted mid-rotation", before: inStage(Reissuing), edit: func(_ *world, d *Domain) { deleteLeaf("server")(d) }},
		{name: "a leaf deleted that is not there", before: func(w *world) { deleteLeaf("server")(&w.d) },
			edit: func(_ *world, d *Domain) { deleteLeaf("server")(d) }},
		{name: "an unreadable leaf deleted though nothing can reissue it", before: func(w *world) {
			deleteSigner(&w.d)
			w.leaf("server").Problem = &Problem{Object: "Secret/server", Reason: ReasonUnparsable}
		}, edit: func(_ *world, d *Domain) { deleteLeaf("server")(d) }},
		{name: "a leaf deleted that nothing can reissue", before: func(w *world) { deleteSigner(&w.d) },
			edit:      func(_ *world, d *Domain) { deleteLeaf("server")(d) },
			invariant: TrustBeforeUse, object: "Secret/server", says: "no CA could reissue", way: "repair"},
		{name: "a leaf of a configuration that is new", edit: func(_ *world, d *Domain) {
			d.Leaves = append(d.Leaves, Leaf{Object: Object{Name: "another", Present: true}})
		}},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

// publishedNext stops with next in the bundle. inStage(Distributing) stops before.
func publishedNext(w *world) { w.request("test"); w.settle() }
