// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"strings"
	"testing"

	"certrotation.dev/registry/pki"
)

// unreadBlock is a block that no parser here can read.
const unreadBlock = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

func withUnread(w *world, d *Domain) {
	anchors, err := pki.ParseAnchors(append(pki.EncodeCertificates(w.d.Bundle.Anchors...), unreadBlock...))
	if err != nil {
		panic(err)
	}
	d.Bundle.Unread = anchors.Unread
}

func TestJudgeUnread(t *testing.T) {
	has := func(w *world) { withUnread(w, &w.d) }
	removed := func(_ *world, d *Domain) { d.Bundle.Unread = nil }
	strange := func(w *world) {
		has(w)
		w.leaf("server").Certificate = signedLeaf(w, "server", foreign(w))
	}
	tests := []judgement{
		{name: "added", edit: withUnread, invariant: NeverEmpty, object: "ConfigMap/bundle", says: "block 2: ", way: "leave the block out"},
		{name: "added to ca.crt", edit: func(w *world, d *Domain) {
			withUnread(w, d)
			leafOf(d, "server").UnreadAnchors, d.Bundle.Unread = d.Bundle.Unread, nil
		}, invariant: NeverEmpty, object: "Secret/server", says: "block 2: ", way: "leave the block out"},
		{name: "kept", before: has, edit: func(w *world, d *Domain) { d.Bundle.Anchors = append(d.Bundle.Anchors, foreign(w)) }},
		{name: "removed", before: has, edit: removed},
		{name: "removed while the signer of a leaf is not known", before: strange, edit: removed,
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"Secret/server"}, says: "may be the anchor", way: "reissue"},
		{name: "deleted with the bundle", before: has, edit: func(_ *world, d *Domain) { deleteBundle(d) },
			invariant: AnchorInUse, object: "ConfigMap/bundle", affected: []string{"block 2: invalid certificate: x509: malformed certificate"}, says: "its signer does not know", way: "safe to remove"},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

// TestUnreadBlockHoldsNothing: it is reported, and a rotation goes to its end.
func TestUnreadBlockHoldsNothing(t *testing.T) {
	w := newWorld(t)
	w.settle()
	withUnread(w, &w.d)
	problem := w.assess().ProblemOf("ConfigMap/bundle")
	if problem == nil || problem.Reason != ReasonUnreadBlock || !strings.Contains(problem.Message, "block 2: ") {
		t.Fatalf("the problem of the bundle: %+v", problem)
	}
	former := w.d.Signer.Active
	w.request("test")
	for range 20 {
		w.settle()
		w.reloadAll()
	}
	if w.d.Signer.Active.Equal(former) || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("the CA is %s, with %d anchors", w.d.Signer.Active.Subject, len(w.d.Bundle.Anchors))
	}
}
