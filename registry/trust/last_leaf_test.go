// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"testing"
)

// TestLastLeafOfTheActiveCAComesBack: the client leaves have moved to next, and the only leaf of the active CA is
// deleted. A member that needs that leaf to load next would wait for itself (NoSilentWait).
func TestLastLeafOfTheActiveCAComesBack(t *testing.T) {
	w := bootstrapped(t)
	w.request("test")
	w.settle()
	w.reload("server")
	w.settle()
	active := w.d.Signer.Active
	if w.d.Signer.Next == nil || !w.leaf("client-a").Certificate.SignedBy(w.d.Signer.Next) {
		t.Fatal("the client leaves have not moved to next")
	}
	w.leaf("server").Present, w.leaf("server").Certificate = false, nil
	w.settle()
	if c := w.leaf("server").Certificate; c == nil || !c.SignedBy(active) {
		t.Errorf("the leaf is not back under the active CA: %v", c)
	}
	for range 5 {
		w.reloadAll()
		w.settle()
	}
	if a := w.assess(); a.Stage != Stable {
		t.Errorf("stage %s, blockers %v", a.Stage, a.Blockers)
	}
}
