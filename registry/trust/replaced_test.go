// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
	"time"
)

// TestLeafOfAReplacedCALivesShort: the old CA restores a leaf during a rotation. That leaf must not keep the CA in
// use for a year. It is renewed while the rotation is blocked, and gets its full validity from the new CA.
func TestLeafOfAReplacedCALivesShort(t *testing.T) {
	life := func(l *Leaf) time.Duration { return l.Certificate.NotAfter.Sub(l.Certificate.NotBefore) }
	w := bootstrapped(t)
	old, full := w.d.Signer.Active, life(w.leaf("server"))
	w.request("test")
	w.settle()
	w.leaf("server").Present, w.leaf("server").Certificate = false, nil
	w.settle()
	restored := w.leaf("server")
	if !restored.Certificate.SignedBy(old) || life(restored) > replacedLeafLife+restored.Policy.Profile.Backdate {
		t.Fatalf("restored by %s for %s", restored.Certificate.Issuer, life(restored))
	}
	first := restored.Certificate
	w.now = w.now.Add(6 * 24 * time.Hour)
	w.settle()
	if same(w.leaf("server").Certificate, first) || !w.leaf("server").Certificate.SignedBy(old) {
		t.Error("the short leaf was not renewed while the rotation is held up")
	}
	for range 5 {
		w.reloadAll()
		w.settle()
	}
	if a := w.assess(); a.Stage != Stable || life(w.leaf("server")) != full {
		t.Errorf("stage %s, a leaf for %s, want %s", a.Stage, life(w.leaf("server")), full)
	}
}
