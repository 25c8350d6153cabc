// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// acknowledgementEvidence: members report.
func acknowledgementEvidence() evidenceType {
	return evidenceType{
		kind:        EvidenceAcknowledgement,
		setDefaults: func(party *RelyingParty) { setDefault(&party.Evidence.Lease, DefaultAcknowledgementLease) },
	}
}
