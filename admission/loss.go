// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// loses says whether an edit takes something away that a member, a leaf or a rotation may need: an object, an anchor of
// the bundle, a slot of the signer. It says nothing of whether that is allowed, only that the answer must not come from
// a view that may be behind.
func loses(before, after *trust.Domain) bool {
	if gone(&before.Signer.Object, &after.Signer.Object) || gone(&before.Bundle.Object, &after.Bundle.Object) {
		return true
	}
	for i := range before.Leaves {
		// A leaf that the configuration does not name is no part of the domain any more once it is gone.
		if leaf := leafOf(after, before.Leaves[i].Name); leaf == nil || gone(&before.Leaves[i].Object, &leaf.Object) {
			return true
		}
	}
	return !contains(after.Bundle.Anchors, before.Bundle.Anchors...) ||
		!slotKept(before.Signer.Active, after.Signer.Active) ||
		!slotKept(before.Signer.Next, after.Signer.Next) ||
		!contains(after.Signer.Previous, before.Signer.Previous...)
}

// gone says whether an object is lost to certrotation: deleted, or without the consent that it had.
func gone(before, after *trust.Object) bool {
	return before.Present && (!after.Present || trust.Released(before, after))
}

// slotKept says whether what was in a slot is still there; an empty slot may be filled.
func slotKept(before, after *pki.Certificate) bool { return before == nil || before.Equal(after) }

func contains(all []*pki.Certificate, some ...*pki.Certificate) bool {
	for _, c := range some {
		if !slices.ContainsFunc(all, c.Equal) {
			return false
		}
	}
	return true
}

func leafOf(d *trust.Domain, name string) *trust.Leaf {
	for i := range d.Leaves {
		if d.Leaves[i].Name == name {
			return &d.Leaves[i]
		}
	}
	return nil
}
