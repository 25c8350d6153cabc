// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"
)

// TestPreviousKeysAreDestroyedInRetiringOnly: a person starts a rotation by hand between the last two steps of
// another one. The new rotation completes first.
func TestPreviousKeysAreDestroyedInRetiringOnly(t *testing.T) {
	w := bootstrapped(t)
	inStage(Retiring)(w)
	w.step()
	if len(w.d.Bundle.Anchors) != 1 || len(w.d.Signer.Previous) != 1 {
		t.Fatalf("%d anchors, %d previous", len(w.d.Bundle.Anchors), len(w.d.Signer.Previous))
	}
	w.d.Signer.Next = w.authority(w.d.Signer.Policy.Profile)
	w.done = nil
	if a := w.settle(); a.Stage != Distributing || len(w.d.Signer.Previous) != 1 || slices.Contains(w.done, "DestroyPrevious signer") {
		t.Errorf("in the stage %s, %d previous: %v", a.Stage, len(w.d.Signer.Previous), w.done)
	}
	for range 10 {
		w.reloadAll()
		w.settle()
	}
	if a := w.assess(); a.Stage != Stable || len(w.d.Signer.Previous) != 0 || len(w.d.Bundle.Anchors) != 1 {
		t.Errorf("ends in the stage %s with %d previous", a.Stage, len(w.d.Signer.Previous))
	}
}
