// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
	"time"

	"certrotation.dev/registry/pki"
)

func TestJudgeSigner(t *testing.T) {
	leaves := []string{"Secret/client-a", "Secret/client-b", "Secret/server"}
	members := []string{"server", "client-a", "client-b"}
	remove := func(_ *world, d *Domain) { deleteSigner(d) }
	replace := func(w *world, d *Domain) { d.Signer.Active = foreign(w) }
	tests := []judgement{
		{name: "deleted when stable", edit: remove},
		{name: "deleted while the bundle is lost", before: func(w *world) { deleteBundle(&w.d) }, edit: remove,
			invariant: AnchorInUse, object: "Secret/signer", affected: leaves, says: "ConfigMap/bundle does not hold", way: "rebuilt"},
		{name: "deleted when it is not there", before: func(w *world) { deleteSigner(&w.d) }, edit: remove},
		{name: "deleted mid-flight", before: inStage(Draining), edit: remove,
			invariant: OneRotation, object: "Secret/signer", says: "stage Draining", way: "Stable"},
		{name: "deleted while its leaves are being reissued", before: func(w *world) {
			for _, name := range []string{"client-a", "client-b", "server"} {
				deleteLeaf(name)(&w.d)
			}
		}, edit: remove, invariant: TrustBeforeUse, object: "Secret/signer", says: "still present", way: "reissued"},
		{name: "deleted when it and all leaves have expired", before: func(w *world) { w.now = w.now.Add(6 * 365 * 24 * time.Hour) }, edit: remove},
		{name: "the key of another certificate", edit: func(_ *world, d *Domain) {
			d.Signer.Problem = &Problem{Object: "Secret/signer", Reason: ReasonKeyMismatch, Message: "tls.key does not belong"}
		}, invariant: PairMatches, object: "Secret/signer", says: "does not belong", way: "one update"},
		{name: "a certificate that is no CA", edit: func(_ *world, d *Domain) {
			d.Signer.Problem = &Problem{Object: "Secret/signer", Reason: ReasonNotCA, Message: "is no CA"}
		}, invariant: TrustBeforeUse, object: "Secret/signer", says: "no CA", way: "one update"},
		{name: "an edit of an unreadable one", before: func(w *world) { w.d.Signer.Problem = &Problem{Reason: ReasonUnparsable} },
			edit: func(_ *world, d *Domain) { d.Signer.Labels = nil }},
		{name: "an unreadable one repaired", before: func(w *world) { w.d.Signer.Problem = &Problem{Reason: ReasonUnparsable} },
			edit: func(_ *world, d *Domain) { d.Signer.Problem = nil }},
		{name: "active replaced by hand", edit: replace,
			invariant: TrustBeforeUse, object: "Secret/signer", affected: members, says: "before every verifier", way: "rotate signer"},
		{name: "active replaced by hand while the leaves are being reissued", before: func(w *world) {
			for _, name := range []string{"client-a", "client-b", "server"} {
				deleteLeaf(name)(&w.d)
			}
		}, edit: replace, invariant: TrustBeforeUse, object: "Secret/signer", affected: members, says: "before every verifier", way: "rotate signer"},
		{name: "active replaced by hand when no node is chosen, and nothing is left but those who run there", before: onlyFormerNodes(false), edit: replace,
			invariant: TrustBeforeUse, object: "Secret/signer", affected: []string{"server/node"}, says: "before every verifier", way: "rotate signer"},
		{name: "active replaced by hand when no node is chosen, and those who ran there are gone", before: onlyFormerNodes(true), edit: replace},
		{name: "deleted when no node is chosen, and nothing is left but those who run there", before: onlyFormerNodes(false), edit: remove,
			invariant: AnchorInUse, object: "Secret/signer", says: "ConfigMap/bundle does not hold", way: "rebuilt"},
		{name: "active replaced by a CA that everybody trusts", before: func(w *world) {
			w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, foreign(w))
			w.reloadAll()
		}, edit: func(w *world, d *Domain) {
			d.Signer.Active, d.Signer.Previous = w.d.Bundle.Anchors[1], []*pki.Certificate{w.d.Signer.Active}
		}},
		{name: "active replaced by a CA that everybody trusts, and its key dropped", before: func(w *world) {
			w.d.Bundle.Anchors = append(w.d.Bundle.Anchors, foreign(w))
			w.reloadAll()
		}, edit: func(w *world, d *Domain) { d.Signer.Active = w.d.Bundle.Anchors[1] },
			invariant: AnchorInUse, object: "Secret/signer", affected: []string{"Secret/client-a", "Secret/client-b", "Secret/server"}, says: "the key of", way: "let the rotation end"},
		{name: "active restored that all leaves are of", before: func(w *world) {
			w.d.Signer.Active = foreign(w)
			for _, m := range []string{"server", "client-a", "client-b"} {
				w.member(m).Observations = nil
			}
		}, edit: func(w *world, d *Domain) { d.Signer.Active = w.d.Bundle.Anchors[0] }},
		{name: "active replaced when everything has expired", before: func(w *world) { w.now = w.now.Add(6 * 365 * 24 * time.Hour) }, edit: replace},
		{name: "active replaced when everything has expired but what was recovered", before: expiredButRecovered, edit: replace,
			invariant: TrustBeforeUse, object: "Secret/signer", affected: members, says: "before every verifier", way: "rotate signer"},
		{name: "active re-signed when everything has expired but what was recovered", before: expiredButRecovered,
			edit: func(w *world, d *Domain) { d.Signer.Active = w.resigned(d.Signer.Active, w.now) }},
		{name: "deleted when everything has expired but what was recovered", before: expiredButRecovered, edit: remove},
		{name: "active renewed with its key and another identifier", edit: func(w *world, d *Domain) { d.Signer.Active = otherIdentifier(w, d.Signer.Active) },
			invariant: TrustBeforeUse, object: "Secret/signer", affected: []string{"server", "client-a", "client-b"}, says: "would sign leaves before every verifier", way: "rotate signer"},
		{name: "active re-signed with the same key and subject", edit: func(w *world, d *Domain) { d.Signer.Active = w.resigned(d.Signer.Active, w.now) }},
		{name: "active re-signed with the same key, but expired",
			edit: func(w *world, d *Domain) {
				d.Signer.Active = w.resigned(d.Signer.Active, w.now.Add(-20*365*24*time.Hour))
			},
			invariant: TrustBeforeUse, object: "Secret/signer", affected: members, says: "before every verifier", way: "rotate signer"},
		{name: "active removed", edit: func(_ *world, d *Domain) { d.Signer.Active = nil },
			invariant: TrustBeforeUse, object: "Secret/signer", affected: leaves, says: "would be gone", way: "rotate signer"},
		{name: "promoted by hand too early", before: publishedNext, edit: promoteByHand,
			invariant: TrustBeforeUse, object: "Secret/signer", affected: members, says: "before every verifier", way: "rotate"},
		{name: "promoted by hand in time", before: func(w *world) { publishedNext(w); w.reloadAll() }, edit: promoteByHand},
		{name: "promoted by hand without keeping the old key", before: func(w *world) { publishedNext(w); w.reloadAll() },
			edit:      func(w *world, d *Domain) { promoteByHand(w, d); d.Signer.Previous = nil },
			invariant: AnchorInUse, object: "Secret/signer", affected: leaves, says: "would be lost", way: "destroys the key"},
		{name: "a second rotation", before: inStage(Draining), edit: func(w *world, d *Domain) { d.Signer.Next = foreign(w) },
			invariant: OneRotation, object: "Secret/signer", says: "stage Draining", way: "Stable"},
		{name: "a rotation begun by hand", edit: func(w *world, d *Domain) { d.Signer.Next = foreign(w) }},
		{name: "a rotation begun by hand to a CA for clients only", edit: func(w *world, d *Domain) { d.Signer.Next = forClientsOnly(w) },
			invariant: TrustBeforeUse, object: "Secret/signer", affected: []string{"Secret/server"}, says: "could not sign Secret/server", way: "may sign all leaves"},
		{name: "next replaced", before: publishedNext, edit: func(w *world, d *Domain) { d.Signer.Next = foreign(w) },
			invariant: OneRotation, object: "Secret/signer", says: "replaced by another", way: "abort signer"},
		{name: "an expired next replaced", before: func(w *world) { publishedNext(w); w.now = w.now.Add(6 * 365 * 24 * time.Hour) },
			edit: func(w *world, d *Domain) { d.Signer.Next = foreign(w) }},
		{name: "next dropped in time", before: publishedNext, edit: func(_ *world, d *Domain) { d.Signer.Next, d.Signer.Previous = nil, []*pki.Certificate{d.Signer.Next} }},
		{name: "next dropped with its key", before: publishedNext, edit: func(_ *world, d *Domain) { d.Signer.Next = nil },
			invariant: AnchorInUse, object: "Secret/signer", says: "its anchor is in the bundle", way: "abort"},
		{name: "next dropped when it has signed", before: func(w *world) { publishedNext(w); w.reload("server"); w.settle() },
			edit:      func(_ *world, d *Domain) { d.Signer.Next = nil },
			invariant: AnchorInUse, object: "Secret/signer", affected: []string{"Secret/client-a", "Secret/client-b"}, says: "signed by it", way: "let the rotation end"},
		{name: "previous dropped while leaves are of it", before: func(w *world) { publishedNext(w); w.reloadAll(); w.step() }, edit: dropPrevious,
			invariant: AnchorInUse, object: "Secret/signer", affected: leaves,
			says: "would be lost", way: "destroys the key"},
		{name: "previous dropped while its leaves may be presented", before: inStage(Draining), edit: dropPrevious,
			invariant: AnchorInUse, object: "Secret/signer", affected: members, says: "would be lost", way: "destroys the key"},
		{name: "previous dropped when nothing needs it", before: inStage(Retiring), edit: dropPrevious},
		{name: "previous dropped when its anchor is gone, though a member restarted", before: func(w *world) {
			inStage(Retiring)(w)
			w.step()
			w.member("server").RestartedAt = w.now.Add(time.Minute)
		}, edit: dropPrevious},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

func promoteByHand(_ *world, d *Domain) {
	d.Signer.Previous = []*pki.Certificate{d.Signer.Active}
	d.Signer.Active, d.Signer.Next = d.Signer.Next, nil
}

func expiredButRecovered(w *world) {
	w.now = w.now.Add(6 * 365 * 24 * time.Hour)
	w.member("server").Observations[0].RecoveredUntil = w.now.Add(time.Hour)
}

func dropPrevious(_ *world, d *Domain) { d.Signer.Previous = nil }

// resigned returns the CA that a recovery puts in the place of ca.
func (w *world) resigned(ca *pki.Certificate, at time.Time) *pki.Certificate {
	again, err := w.keys[ca.Fingerprint].Resign(at)
	if err != nil {
		w.t.Fatal(err)
	}
	return again.Certificate
}

// onlyFormerNodes leaves only the signer of the domain, and a node that its party no longer selects.
func onlyFormerNodes(gone bool) func(*world) {
	return func(w *world) {
		member := RosterMember{Party: "server", Member: "node", Instance: "uid", Kind: TLSProbe, Verifies: []string{"server"}, Presents: []string{"server"}, Started: true}
		if gone {
			member.Absent = "its machine is gone"
		}
		w.d.Roster = &Roster{Members: []RosterMember{member}, Leaves: []string{"server"}}
		w.d.Leaves, w.d.Bundle = nil, Bundle{Object: Object{Name: w.d.Bundle.Name}}
		for i := range w.d.Parties {
			w.d.Parties[i].Members = nil
		}
	}
}
