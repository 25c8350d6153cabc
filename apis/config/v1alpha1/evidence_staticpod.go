// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/validation/field"

// staticPodEvidence: what the rollout of the configuration brought to a node.
func staticPodEvidence() evidenceType {
	return evidenceType{
		kind: EvidenceStaticPodRevision, rolledOut: true,
		validate: func(party *RelyingParty, _ *declaredDomain, at *field.Path) field.ErrorList {
			if party.ForEachNode != nil {
				return nil
			}
			return field.ErrorList{field.Invalid(at.Child("kind"), party.Evidence.Kind, "is seen on nodes: the party needs forEachNode")}
		},
	}
}
