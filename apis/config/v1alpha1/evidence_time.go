// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RenewedEvidence are the parameters of the kind renewed.
type RenewedEvidence struct {
	// minimumDelay is the time after which a renewed leaf counts as presented: a process does not load a Secret at
	// once. It is an assumption of the operator, not an observation. At least 1s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be a duration between 1s and 8760h"
	MinimumDelay metav1.Duration `json:"minimumDelay"`
}

// gracePeriodEvidence: a time after the publication.
func gracePeriodEvidence() evidenceType {
	return evidenceType{
		kind: EvidenceGracePeriod, parameters: func(e *Evidence) bool { return e.GracePeriod != nil },
		name: "gracePeriod", missing: "the kind gracePeriod needs one",
		validateParameters: func(party *RelyingParty, _ *declaredDomain, at *field.Path) field.ErrorList {
			return validateDuration(party.Evidence.GracePeriod, at, "gracePeriod")
		},
	}
}

// renewedEvidence: a time after the renewal of the leaves that a party presents.
func renewedEvidence() evidenceType {
	return evidenceType{
		kind: EvidenceRenewed, byRenewal: true, parameters: func(e *Evidence) bool { return e.Renewed != nil },
		name: "renewed", missing: "nothing observes that a renewed leaf is presented: say after which minimumDelay it is",
		validateParameters: func(party *RelyingParty, _ *declaredDomain, at *field.Path) field.ErrorList {
			return validateDuration(&party.Evidence.Renewed.MinimumDelay, at.Child("renewed"), "minimumDelay")
		},
		validateMembers: func(party *RelyingParty, _ *declaredDomain, path *field.Path) field.ErrorList {
			if len(party.Presents) > 0 {
				return nil
			}
			return field.ErrorList{field.Required(path.Child("presents"), "the evidence renewed is seen on the leaves that the party presents")}
		},
	}
}
