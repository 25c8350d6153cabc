// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// evidenceType is what the configuration knows of a kind of evidence beside its parameters. All rules ask for its fields,
// and none for a kind.
type evidenceType struct {
	kind EvidenceKind
	// validate checks a party with evidence of the kind, which has its defaults. at is the path of the evidence.
	validate func(party *RelyingParty, domain *declaredDomain, at *field.Path) field.ErrorList
	// validateLeaf checks a leaf that such a party presents.
	validateLeaf func(*Leaf, *field.Path) field.ErrorList
	// unseen returns why the evidence of a party cannot show that it verifies a leaf, "" if it can.
	unseen func(party string, leaf *Leaf) string
	// setDefaults sets the defaults of a party with evidence of the kind.
	setDefaults func(*RelyingParty)
	// probed: members are probed at addresses. rolledOut: the rollout of the configuration brings them their files.
	// byRenewal: the evidence is that leaves are renewed, which may wait for the evidence of others.
	probed, rolledOut, byRenewal bool
}

// evidenceTypes are those with rules that the definition cannot say.
func evidenceTypes() []evidenceType {
	return []evidenceType{
		tlsProbeEvidence(), acknowledgementEvidence(), renewedEvidence(), staticPodEvidence(), workloadRolloutEvidence(),
		mountedEvidence(), caBundleEvidence(),
	}
}

// typeOf returns the type of a kind, an empty one for a kind without such rules.
func typeOf(kind EvidenceKind) evidenceType {
	all := evidenceTypes()
	if i := slices.IndexFunc(all, func(e evidenceType) bool { return e.kind == kind }); i >= 0 {
		return all[i]
	}
	return evidenceType{}
}

func validatePresented(party *RelyingParty, leaf *Leaf, path *field.Path) field.ErrorList {
	if check := typeOf(party.Evidence.Kind).validateLeaf; check != nil {
		return check(leaf, path)
	}
	return nil
}

// unseen returns why the evidence of a party cannot show that it verifies a leaf, "" if it can.
func unseen(party *RelyingParty, leaf *Leaf) string {
	if explain := typeOf(party.Evidence.Kind).unseen; explain != nil {
		return explain(party.Name, leaf)
	}
	return ""
}

func setEvidenceDefaults(party *RelyingParty) {
	if set := typeOf(party.Evidence.Kind).setDefaults; set != nil {
		set(party)
	}
}
