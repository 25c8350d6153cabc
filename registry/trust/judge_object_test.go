// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

// TestJudgeWhatAnObjectIs: the guard also checks changes of an object besides its certificates.
func TestJudgeWhatAnObjectIs(t *testing.T) {
	deleting := func(o *Object) { o.Deleting, o.Finalizers = true, true }
	tests := []judgement{
		{name: "immutable bundle", edit: func(_ *world, d *Domain) { d.Bundle.Immutable = true },
			invariant: NoSilentWait, object: "ConfigMap/bundle", says: "immutable", way: "unset"},
		{name: "immutable signer", edit: func(_ *world, d *Domain) { d.Signer.Immutable = true },
			invariant: NoSilentWait, object: "Secret/signer", says: "immutable", way: "unset"},
		{name: "immutable leaf", edit: func(_ *world, d *Domain) { leafOf(d, "server").Immutable = true },
			invariant: NoSilentWait, object: "Secret/server", says: "immutable", way: "unset"},
		{name: "last finalizer of a deleted signer in flight", before: func(w *world) { inStage(Reissuing)(w); deleting(&w.d.Signer.Object) },
			edit:      func(_ *world, d *Domain) { d.Signer.Finalizers = false },
			invariant: OneRotation, object: "Secret/signer", says: "keys that it still needs", way: "Stable"},
		{name: "last finalizer of a deleted bundle in flight", before: func(w *world) { inStage(Reissuing)(w); deleting(&w.d.Bundle.Object) },
			edit:      func(_ *world, d *Domain) { d.Bundle.Finalizers = false },
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"Secret/client-a", "Secret/client-b", "Secret/server"}, says: "needs both anchors", way: "Stable"},
		{name: "last finalizer of a deleted leaf", before: func(w *world) { deleting(&w.leaf("server").Object) },
			edit: func(_ *world, d *Domain) { leafOf(d, "server").Finalizers = false }},
		{name: "a signer from before the rotation", before: inStage(Draining), edit: func(w *world, d *Domain) {
			d.Signer.Active, d.Signer.Previous = w.d.Signer.Previous[0], nil
		}, invariant: AnchorInUse, object: "Secret/signer", affected: []string{"Secret/client-a", "Secret/client-b", "Secret/server"}, says: "the key of", way: "let the rotation end"},
		{name: "an anchor with the subject of the CA", edit: func(w *world, d *Domain) {
			d.Bundle.Anchors = append(d.Bundle.Anchors, twin(w, w.d.Signer.Active))
		}, invariant: ContentDecides, object: "ConfigMap/bundle", says: "with another key", way: "subject of its own"},
		{name: "a next CA with the subject of the active one", edit: func(w *world, d *Domain) {
			d.Signer.Next = twin(w, w.d.Signer.Active)
		}, invariant: ContentDecides, object: "Secret/signer", says: "with another key", way: "subject of its own"},
		{name: "the anchor of a next CA with the subject of the active one", before: func(w *world) {
			w.d.Signer.Next = twin(w, w.d.Signer.Active)
		}, edit: func(w *world, d *Domain) { d.Bundle.Anchors = append(d.Bundle.Anchors, w.d.Signer.Next) }},
		{name: "a leaf that has expired", edit: func(w *world, d *Domain) {
			l := leafOf(d, "server")
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.NotAfter = w.now.Add(-time.Second) }, w.d.Signer.Active)
		}, invariant: TrustBeforeUse, object: "Secret/server", affected: []string{"client-a", "client-b"}, says: "expired", way: "delete Secret/server"},
		{name: "a leaf of tomorrow", edit: func(w *world, d *Domain) {
			l := leafOf(d, "server")
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.NotBefore = w.now.Add(day) }, w.d.Signer.Active)
		}, invariant: TrustBeforeUse, object: "Secret/server", affected: []string{"client-a", "client-b"}, says: "not valid before", way: "delete Secret/server"},
		{name: "a leaf of another name", edit: func(w *world, d *Domain) {
			l := leafOf(d, "server")
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.DNSNames = []string{"other.example"} }, w.d.Signer.Active)
		}, invariant: TrustBeforeUse, object: "Secret/server", affected: []string{"client-a", "client-b"}, says: "lacks the names", way: "delete Secret/server"},
		{name: "a leaf for another use", edit: func(w *world, d *Domain) {
			l := leafOf(d, "server")
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, w.d.Signer.Active)
		}, invariant: TrustBeforeUse, object: "Secret/server", affected: []string{"client-a", "client-b"}, says: "lacks the usage", way: "delete Secret/server"},
		{name: "a leaf that outlives what its verifiers have loaded", before: func(w *world) {
			renewed := resigned(w, w.d.Signer.Active)
			w.keys[renewed.Fingerprint] = w.keys[w.d.Signer.Active.Fingerprint]
			w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, renewed)
		}, edit: func(w *world, d *Domain) {
			former, l := w.d.Signer.Active, leafOf(d, "server")
			l.Certificate = w.raw(l.Certificate, func(c *x509.Certificate) { c.NotAfter = former.NotAfter.Add(time.Minute) }, w.d.Bundle.Anchors[1])
			l.Authorities = []*pki.Certificate{w.d.Bundle.Anchors[1]}
		}, invariant: LeafWithinSigner, object: "Secret/server", says: "as far as those who verify it have loaded it", way: "delete Secret/server"},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

// TestExpiredSignerIsReplacedUnderTheGuard: Judge admits what Assess proposes, also if the active CA expires
// during a rotation while a leaf of a former CA is live.
func TestExpiredSignerIsReplacedUnderTheGuard(t *testing.T) {
	f := newFleet(t, topology{servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement}})
	f.request("test")
	reissued(f)
	// A leaf of the former CA outlives the new CA.
	f.d.Signer.Active = f.raw(f.d.Signer.Active, func(c *x509.Certificate) { c.NotAfter = f.now.Add(time.Hour) }, nil)
	f.d.Bundle.Anchors[1] = f.d.Signer.Active
	f.leaf("client-0").Certificate = signedLeaf(f.world, "client-0", f.d.Signer.Previous[0])
	f.now = f.now.Add(2 * time.Hour)
	f.loadAll()
	for range 10 {
		actions := f.assess().Actions
		if len(actions) == 0 {
			t.Fatalf("it waits for ever: stage %s, blockers %+v, done %v", f.assess().Stage, f.assess().Blockers, f.done)
		}
		if found := f.act(&actions[0]); len(found) > 0 {
			t.Fatalf("the guard refuses %s: %+v", actions[0].Kind, found)
		}
		if actions[0].Kind == GenerateNext {
			return
		}
	}
	t.Errorf("no new CA: %v", f.done)
}
