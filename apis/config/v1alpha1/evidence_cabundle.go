// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CABundleEvidence are the parameters of the kind caBundle. The members are the objects of injectInto of the
// domain's bundle, each named KIND.NAME.
type CABundleEvidence struct {
	// minimumDelay is the time after which every kube-apiserver counts as verifying with an anchor that a caBundle
	// holds. It is an assumption of the operator, not an observation. At least 1s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be a duration between 1s and 8760h"
	MinimumDelay metav1.Duration `json:"minimumDelay"`
}

// caBundleEvidence: the objects by whose caBundle kube-apiserver verifies.
func caBundleEvidence() evidenceType {
	return evidenceType{
		kind:     EvidenceCABundle,
		validate: validateTargetMembers,
		unseen: func(party string, leaf *Leaf) string {
			if slices.Contains(leaf.Usages, ServerAuth) {
				return ""
			}
			return fmt.Sprintf("kube-apiserver verifies only servers by a caBundle of %s, and this one has no usage ServerAuth", party)
		},
	}
}

// validateTargetMembers validates the members of a party with the evidence caBundle: the objects of injectInto of the
// bundle, each named KIND.NAME.
func validateTargetMembers(party *RelyingParty, domain *declaredDomain, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	kind := at.Child("kind")
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
