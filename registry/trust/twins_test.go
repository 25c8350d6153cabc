// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"slices"
	"testing"

	"certrotation.dev/registry/pki"
)

// otherIdentifier is a CA with the key and the name of another one, and another subject key identifier, as some issuers renew theirs.
// The leaves of either name its identifier, so that OpenSSL finds no issuer in the other.
func otherIdentifier(w *world, ca *pki.Certificate) *pki.Certificate {
	w.t.Helper()
	renewed := w.raw(ca, func(c *x509.Certificate) { c.SubjectKeyId, c.AuthorityKeyId = []byte("another identifier"), nil }, nil)
	key, err := w.keys[ca.Fingerprint].KeyPEM()
	if err != nil {
		w.t.Fatal(err)
	}
	pair, err := pki.ParsePair(renewed.PEM(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keys[renewed.Fingerprint] = pair
	return renewed
}

// TestRenewedWithAnotherIdentifier: past the guard the active CA is replaced by one of its key and name, with another identifier. The
// former anchor is needed until every leaf that names the former identifier is reissued, and presented.
func TestRenewedWithAnotherIdentifier(t *testing.T) {
	w := bootstrapped(t)
	former := w.d.Signer.Active
	renewed := otherIdentifier(w, former)
	w.d.Signer.Active = renewed
	safe := func() bool {
		for _, anchor := range w.assess().Anchors {
			if same(anchor.Certificate, former) {
				return anchor.SafeToRemove
			}
		}
		return true
	}
	if safe() {
		t.Error("the anchor is safe to remove, and all leaves name its identifier")
	}
	for i := range 12 {
		if i%2 == 0 {
			w.settle()
		} else {
			w.reloadAll()
		}
		if i == 0 && !w.leaf("server").Certificate.Identifies(former) {
			t.Error("a leaf names the new identifier before anybody has loaded the renewed CA")
		}
		named := slices.ContainsFunc(w.d.Leaves, func(l Leaf) bool { return !l.Certificate.Identifies(renewed) })
		if named && safe() {
			t.Fatal("the anchor is safe to remove, and a leaf names its identifier")
		}
	}
	a := w.settle()
	for i := range w.d.Leaves {
		if l := &w.d.Leaves[i]; !l.Certificate.Identifies(renewed) {
			t.Errorf("%s was not reissued", l.Name)
		}
	}
	if a.Stage != Stable || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("no rest: %s", outline(a))
	}
}

// TestIdentifierOfAnAnchorThatIsGone: the former anchor has left the bundle already, so that nothing but the identifier says that a leaf
// is of another certificate of its issuer.
func TestIdentifierOfAnAnchorThatIsGone(t *testing.T) {
	w := bootstrapped(t)
	renewed := otherIdentifier(w, w.d.Signer.Active)
	w.d.Signer.Active, w.d.Bundle.Anchors = renewed, []*pki.Certificate{renewed}
	for range 3 {
		w.reloadAll()
		w.settle()
	}
	for i := range w.d.Leaves {
		if l := &w.d.Leaves[i]; !l.Certificate.Identifies(renewed) {
			t.Errorf("%s was not reissued", l.Name)
		}
	}
}
