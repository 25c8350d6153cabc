// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// staticPodEvidence: what the rollout of the configuration brought to a node.
func staticPodEvidence() evidenceType {
	return evidenceType{kind: EvidenceStaticPodRevision, rolledOut: true}
}
