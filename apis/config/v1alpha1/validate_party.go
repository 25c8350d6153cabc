// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "k8s.io/apimachinery/pkg/util/validation/field"

func validateParty(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	errs := validateName(party.Name, path.Child("name"))
	errs = append(errs, validateVerifies(party, domain, path.Child("verifies"))...)
	errs = append(errs, validatePresents(party, domain, path.Child("presents"))...)

	errs = append(errs, validateSelector(party.ForEachNode, path.Child("forEachNode"))...)
	if party.Pods != nil {
		errs = append(errs, validatePods(party, path.Child("pods"))...)
		if mounting := party.Pods.Mounting; mounting != nil && domain.editions {
			errs = append(errs, field.Invalid(path.Child("pods", "mounting", "secretName"), mounting.SecretName,
				"no Secret of editions has this name: choose the pods by labels"))
		}
	}
	errs = append(errs, validateEach(party.Members, path.Child("members"), validateName)...)
	errs = append(errs, validateReporters(party.Reporters, path.Child("reporters"))...)
	if check := typeOf(party.Evidence.Kind).validate; check != nil {
		errs = append(errs, check(party, domain, path.Child("evidence"))...)
	}
	return errs
}

func validateVerifies(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	verifies := party.Verifies
	errs := validateEach(verifies.Leaves, path.Child("leaves"), leafOf(domain))
	if verifies.Nothing || len(errs) > 0 || domain.verifiesAnything(party) {
		return errs
	}
	return append(errs, field.Invalid(path, verifies, "no leaf of the domain has one of these usages and is one of these leaves: "+
		"a party that verifies none says so with verifies: {nothing: true}, and presents some"))
}

// leafOf validates references to leaves, by secretName.
func leafOf(domain *declaredDomain) func(string, *field.Path) field.ErrorList {
	return func(name string, path *field.Path) field.ErrorList {
		if domain.leaves[name] == nil {
			return field.ErrorList{field.NotFound(path, name)}
		}
		return nil
	}
}

func validatePresents(party *RelyingParty, domain *declaredDomain, path *field.Path) field.ErrorList {
	errs := validateEach(party.Presents, path, leafOf(domain))
	hasNodes := party.ForEachNode != nil || party.Pods != nil || len(party.Members) > 0
	for i, name := range party.Presents {
		leaf := domain.leaves[name]
		if leaf != nil && leaf.ForEachNode != nil && !hasNodes {
			errs = append(errs, field.Invalid(path.Index(i), name,
				"the leaf is held by the member of its node: the party needs forEachNode, pods, or members that are named as the nodes"))
		}
		if leaf != nil {
			errs = append(errs, validatePresented(party, leaf, path.Index(i))...)
		}
	}
	return errs
}
