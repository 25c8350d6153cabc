// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateParty validates a relying party of a domain with the given leaves, by secretName.
func validateParty(party *RelyingParty, leaves map[string]*Leaf, path *field.Path) field.ErrorList {
	errs := validateName(party.Name, path.Child("name"))

	verifies := path.Child("verifies")
	errs = append(errs, validateSet(party.Verifies.Usages, verifies.Child("usages"), validateUsage)...)
	errs = append(errs, validateSet(party.Verifies.Leaves, verifies.Child("leaves"), leafOf(leaves))...)
	errs = append(errs, validatePresents(party, leaves, path.Child("presents"))...)

	errs = append(errs, validateSelector(party.ForEachNode, path.Child("forEachNode"))...)
	if party.ForEachNode != nil && len(party.Members) > 0 {
		errs = append(errs, field.Forbidden(path.Child("members"), "the members are the nodes of forEachNode"))
	}
	errs = append(errs, validateSet(party.Members, path.Child("members"), validateName)...)
	return append(errs, validateEvidence(party, leaves, path.Child("evidence"))...)
}

// leafOf validates references to leaves, as they are written in the configuration.
func leafOf(leaves map[string]*Leaf) func(string, *field.Path) field.ErrorList {
	return func(name string, path *field.Path) field.ErrorList {
		if leaves[name] == nil {
			return field.ErrorList{field.NotFound(path, name)}
		}
		return nil
	}
}

func validatePresents(party *RelyingParty, leaves map[string]*Leaf, path *field.Path) field.ErrorList {
	errs := validateSet(party.Presents, path, leafOf(leaves))
	hasNodes := party.ForEachNode != nil || len(party.Members) > 0
	for i, name := range party.Presents {
		if leaf := leaves[name]; leaf != nil && leaf.ForEachNode != nil && !hasNodes {
			errs = append(errs, field.Invalid(path.Index(i), name,
				"the leaf is held by the member of its node: the party needs forEachNode, or members that are named as the nodes"))
		}
	}
	if party.Evidence.Kind == EvidenceRenewed && len(party.Presents) == 0 {
		errs = append(errs, field.Required(path, "the evidence renewed is seen on the leaves that the party presents"))
	}
	return errs
}

func validateEvidence(party *RelyingParty, leaves map[string]*Leaf, path *field.Path) field.ErrorList {
	evidence, kind := party.Evidence, path.Child("kind")
	var errs field.ErrorList
	switch evidence.Kind {
	case EvidenceTLSProbe:
		if evidence.TLSProbe == nil {
			errs = append(errs, field.Required(path.Child("tlsProbe"), "the kind tlsProbe needs addresses"))
		}
	case EvidenceGracePeriod:
		if evidence.GracePeriod == nil {
			errs = append(errs, field.Required(path.Child("gracePeriod"), "the kind gracePeriod needs one"))
		}
	case EvidenceStaticPodRevision:
		if party.ForEachNode == nil {
			errs = append(errs, field.Invalid(kind, evidence.Kind, "is seen on nodes: the party needs forEachNode"))
		}
	case EvidenceAcknowledgement, EvidenceRenewed:
	case "":
		return field.ErrorList{field.Required(kind, "")}
	default:
		return field.ErrorList{field.NotSupported(kind, evidence.Kind,
			[]EvidenceKind{EvidenceTLSProbe, EvidenceAcknowledgement, EvidenceGracePeriod, EvidenceRenewed, EvidenceStaticPodRevision})}
	}
	if evidence.TLSProbe != nil {
		errs = append(errs, onlyWith(EvidenceTLSProbe, evidence.Kind, path.Child("tlsProbe"))...)
		errs = append(errs, validateProbe(party, leaves, path.Child("tlsProbe"))...)
	}
	if evidence.GracePeriod != nil {
		errs = append(errs, onlyWith(EvidenceGracePeriod, evidence.Kind, path.Child("gracePeriod"))...)
		errs = append(errs, validatePositive(evidence.GracePeriod, path.Child("gracePeriod"))...)
	}
	return errs
}

func onlyWith(want, got EvidenceKind, path *field.Path) field.ErrorList {
	if want == got {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("only with the kind %s", want))}
}
