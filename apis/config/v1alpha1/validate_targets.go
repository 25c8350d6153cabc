// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateTargetMembers validates a party with the evidence caBundle. Its members are the objects of injectInto of
// the bundle, each named KIND.NAME, and they present nothing.
func validateTargetMembers(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(set bool, name string) {
		if set {
			errs = append(errs, field.Forbidden(path.Child(name), "the members of a party with the evidence caBundle are the objects of injectInto "+
				"of the bundle, which present nothing"))
		}
	}
	forbid(party.ForEachNode != nil, "forEachNode")
	forbid(party.Pods != nil, "pods")
	forbid(len(party.Members) > 0, "members")
	forbid(len(party.Presents) > 0, "presents")
	kind := path.Child("evidence", "kind")
	if !slices.ContainsFunc(domain.targets, func(t InjectionTarget) bool { return t.Kind.VerifiedByAPIServer() }) {
		errs = append(errs, field.Invalid(kind, party.Evidence.Kind, "is seen on the objects of injectInto of the bundle, which names none: "+
			"name there the objects by whose caBundle kube-apiserver verifies"))
	}
	for _, target := range domain.targets {
		if excess := len(target.Kind) + len(".") + len(target.Name) - validation.DNS1123SubdomainMaxLength; excess > 0 {
			errs = append(errs, field.Invalid(kind, party.Evidence.Kind, fmt.Sprintf(
				"%s %s of injectInto makes a member whose name has %d characters too many", target.Kind, target.Name, excess)))
		}
	}
	return errs
}
