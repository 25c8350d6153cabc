// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxReason = 1024

// evidenceType is what the configuration knows of a kind of evidence. All rules ask for its fields, and none for a kind.
type evidenceType struct {
	kind EvidenceKind
	// parameters reports whether the parameters of the kind are set, which are the field of that name; nil if the kind has
	// none. missing is the error if it needs them, "" if not.
	parameters    func(*Evidence) bool
	name, missing string
	// validate checks a party with evidence of the kind, validateParameters its parameters, on any party. at is the path
	// of the evidence. Both expect defaults.
	validate, validateParameters func(party *RelyingParty, domain *declaredDomain, at *field.Path) field.ErrorList
	// validateMembers checks the members of such a party, and what they present. Its path is that of the party.
	validateMembers func(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList
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

// evidenceTypes in the order in which they are offered.
func evidenceTypes() []evidenceType {
	return []evidenceType{
		tlsProbeEvidence(), acknowledgementEvidence(), gracePeriodEvidence(), renewedEvidence(), staticPodEvidence(),
		workloadRolloutEvidence(), mountedEvidence(), caBundleEvidence(), statedEvidence(),
	}
}

// typeOf returns the type of a kind, an empty one for an unknown kind.
func typeOf(kind EvidenceKind) evidenceType {
	all := evidenceTypes()
	if i := slices.IndexFunc(all, func(e evidenceType) bool { return e.kind == kind }); i >= 0 {
		return all[i]
	}
	return evidenceType{}
}

// validateEvidence expects evidence with defaults.
func validateEvidence(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	evidence, of := &party.Evidence, typeOf(party.Evidence.Kind)
	switch {
	case evidence.Kind == "":
		return field.ErrorList{field.Required(path.Child("kind"), "")}
	case of.kind == "":
		var kinds []EvidenceKind
		for _, e := range evidenceTypes() {
			kinds = append(kinds, e.kind)
		}
		return field.ErrorList{field.NotSupported(path.Child("kind"), evidence.Kind, kinds)}
	}
	var errs field.ErrorList
	if of.missing != "" && !of.parameters(evidence) {
		errs = append(errs, field.Required(path.Child(of.name), of.missing))
	}
	if of.validate != nil {
		errs = append(errs, of.validate(party, domain, path)...)
	}
	for _, e := range evidenceTypes() {
		if e.parameters == nil || !e.parameters(evidence) {
			continue
		}
		if e.kind != evidence.Kind {
			errs = append(errs, field.Forbidden(path.Child(e.name), fmt.Sprintf("only with the kind %s", e.kind)))
		}
		errs = append(errs, e.validateParameters(party, domain, path)...)
	}
	return errs
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

// setEvidenceDefaults also completes parameters of other kinds, so that they have no errors but that they are set.
func setEvidenceDefaults(party *RelyingParty) {
	for _, e := range evidenceTypes() {
		if e.setDefaults != nil && (e.kind == party.Evidence.Kind || e.parameters(&party.Evidence)) {
			e.setDefaults(party)
		}
	}
}

// statedEvidence is the operator's statement that a party needs none.
func statedEvidence() evidenceType {
	return evidenceType{
		kind: EvidenceNone, parameters: func(e *Evidence) bool { return e.Reason != "" },
		name: "reason",
		validate: func(party *RelyingParty, _ *declaredDomain, at *field.Path) field.ErrorList {
			if strings.TrimSpace(party.Evidence.Reason) != "" {
				return nil
			}
			return field.ErrorList{field.Required(at.Child("reason"), "say why no evidence is needed: it is shown wherever the party counts")}
		},
		validateParameters: func(party *RelyingParty, _ *declaredDomain, at *field.Path) field.ErrorList {
			if reason := party.Evidence.Reason; utf8.RuneCountInString(reason) > maxReason {
				return field.ErrorList{field.TooLongCharacters(at.Child("reason"), reason, maxReason)}
			}
			return nil
		},
	}
}
