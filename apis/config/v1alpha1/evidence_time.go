// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RenewedEvidence are the parameters of the kind renewed.
type RenewedEvidence struct {
	// minimumDelay is the time after which a renewed leaf counts as presented: a process does not load a Secret at
	// once. It is an assumption of the operator, not an observation. At least 1s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be a duration between 1s and 8760h"
	MinimumDelay metav1.Duration `json:"minimumDelay"`
}

// renewedEvidence: a time after the renewal of the leaves that a party presents.
func renewedEvidence() evidenceType {
	return evidenceType{kind: EvidenceRenewed, byRenewal: true}
}
