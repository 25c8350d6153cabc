// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// consequences are what the controller will do about an edit that is allowed, for whoever did not expect it.
func consequences(before, after *trust.Domain) []string {
	if warnings := releases(before, after); len(warnings) > 0 {
		return warnings
	}
	var warnings []string
	if gone(&before.Bundle.Object, &after.Bundle.Object) {
		warnings = append(warnings, fmt.Sprintf("ConfigMap/%s is rebuilt from what live leaves need", before.Bundle.Name))
	}
	if gone(&before.Signer.Object, &after.Signer.Object) {
		warnings = append(warnings, fmt.Sprintf("Secret/%s is a lost signer now: a rotation to a new CA begins", before.Signer.Name))
	}
	if asksForRotation(&before.Signer.Object, &after.Signer.Object) {
		warnings = append(warnings, fmt.Sprintf("Secret/%s: this asks for a rotation of the CA", before.Signer.Name))
	}
	for i := range before.Leaves {
		was := &before.Leaves[i]
		is := after.Leaf(was.Name)
		switch {
		case is == nil:
		case gone(&was.Object, &is.Object):
			warnings = append(warnings, fmt.Sprintf("Secret/%s will be reissued by %s", was.Name, before.Signer.Name))
		case asksForRotation(&was.Object, &is.Object):
			warnings = append(warnings, fmt.Sprintf("Secret/%s: this asks for a new certificate from %s", was.Name, before.Signer.Name))
		}
	}
	return warnings
}

// releases are the objects whose consent is taken by an edit: nothing is made of them again.
func releases(before, after *trust.Domain) []string {
	var warnings []string
	released := func(object string, was, is *trust.Object) {
		if trust.Released(was, is) {
			warnings = append(warnings, fmt.Sprintf("%s is released: certrotation neither uses nor changes it, and what needs it waits until it has the annotation %s again",
				object, trust.AnnotationConfiguration))
		}
	}
	released("ConfigMap/"+before.Bundle.Name, &before.Bundle.Object, &after.Bundle.Object)
	released("Secret/"+before.Signer.Name, &before.Signer.Object, &after.Signer.Object)
	for i := range before.Leaves {
		if is := after.Leaf(before.Leaves[i].Name); is != nil {
			released("Secret/"+is.Name, &before.Leaves[i].Object, &is.Object)
		}
	}
	return warnings
}

// asksForRotation reports whether an edit deletes an annotation whose absence is a request.
func asksForRotation(before, after *trust.Object) bool {
	return before.Present && after.Present && before.DeletedDate() == "" && after.DeletedDate() != ""
}

// loses says whether an edit takes something away that a member, a leaf or a rotation may need: an object, an anchor of
// the bundle, a slot of the signer. It says nothing of whether that is allowed, only that the answer must not come from
// a view that may be behind.
func loses(before, after *trust.Domain) bool {
	if gone(&before.Signer.Object, &after.Signer.Object) || gone(&before.Bundle.Object, &after.Bundle.Object) {
		return true
	}
	for i := range before.Leaves {
		// A leaf that the configuration does not name is no part of the domain any more once it is gone.
		if leaf := after.Leaf(before.Leaves[i].Name); leaf == nil || gone(&before.Leaves[i].Object, &leaf.Object) {
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
