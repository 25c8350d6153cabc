// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/validation/field"

// acknowledgementEvidence: members report.
func acknowledgementEvidence() evidenceType {
	return evidenceType{
		kind: EvidenceAcknowledgement, parameters: func(e *Evidence) bool { return e.Lease != nil }, name: "lease",
		validateParameters: func(party *RelyingParty, _ *declaredDomain, at *field.Path) field.ErrorList {
			return validateDuration(party.Evidence.Lease, at, "lease")
		},
		setDefaults: func(party *RelyingParty) { setDefault(&party.Evidence.Lease, DefaultAcknowledgementLease) },
	}
}
