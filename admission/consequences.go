// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// consequences warns of what the controller does after an allowed edit.
func consequences(before, after *trust.Domain) []string {
	if warnings := releases(before, after); len(warnings) > 0 || before.WrittenBy != "" {
		return warnings
	}
	var warnings []string
	if gone(&before.Bundle.Object, &after.Bundle.Object) {
		warnings = append(warnings, fmt.Sprintf("%s is rebuilt from what live leaves need", before.Bundle.Ref()))
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

// releases warns of objects that lose their consent: the controller does not create them again.
func releases(before, after *trust.Domain) []string {
	var warnings []string
	released := func(object string, was, is *trust.Object) {
		if trust.Released(was, is) {
			warnings = append(warnings, fmt.Sprintf("%s is released: certrotation neither uses nor changes it, and what needs it waits until it has the annotation %s again",
				object, trust.AnnotationConfiguration))
		}
	}
	released(before.Bundle.Ref(), &before.Bundle.Object, &after.Bundle.Object)
	released("Secret/"+before.Signer.Name, &before.Signer.Object, &after.Signer.Object)
	for i := range before.Leaves {
		if is := after.Leaf(before.Leaves[i].Name); is != nil {
			released("Secret/"+is.Name, &before.Leaves[i].Object, &is.Object)
		}
	}
	return warnings
}

// asksForRotation reports whether an edit deletes an annotation whose absence requests a rotation.
func asksForRotation(before, after *trust.Object) bool {
	return before.Present && after.Present && before.DeletedDate() == "" && after.DeletedDate() != ""
}

// loses reports whether an edit removes something that a member, a leaf or a rotation may need: an object, an anchor
// of the bundle, a slot of the signer. Such an edit may be allowed, but not from a view that may be stale.
func loses(before, after *trust.Domain) bool {
	if gone(&before.Signer.Object, &after.Signer.Object) || gone(&before.Bundle.Object, &after.Bundle.Object) {
		return true
	}
	for i := range before.Leaves {
		// Without its object, a leaf that the configuration does not name leaves the domain.
		if leaf := after.Leaf(before.Leaves[i].Name); leaf == nil || gone(&before.Leaves[i].Object, &leaf.Object) {
			return true
		}
	}
	return !contains(after.Bundle.Anchors, before.Bundle.Anchors...) ||
		!contains(after.Signer.Issuers, before.Signer.Issuers...) ||
		!slotKept(before.Signer.Active, after.Signer.Active) ||
		!slotKept(before.Signer.Next, after.Signer.Next) ||
		!contains(after.Signer.Previous, before.Signer.Previous...)
}

// gone reports whether certrotation loses an object: it is deleted, or loses the consent that it had.
func gone(before, after *trust.Object) bool {
	return before.Present && (!after.Present || trust.Released(before, after))
}

// slotKept reports whether a slot keeps its certificate; an empty slot may be filled.
func slotKept(before, after *pki.Certificate) bool { return before == nil || before.Equal(after) }

func contains(all []*pki.Certificate, some ...*pki.Certificate) bool {
	for _, c := range some {
		if !slices.ContainsFunc(all, c.Equal) {
			return false
		}
	}
	return true
}
