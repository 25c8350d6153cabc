// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// specPath is the root of all error paths.
var specPath = field.NewPath("spec")

// Validate returns what is wrong with the configuration of a namespace that the CustomResourceDefinition admits, with
// paths in the configuration as given. It checks what the definition cannot say: names, references, what depends on
// defaults, and what a preset expands to. The configuration is not changed. See package load, which asks both.
func Validate(spec *RotationConfigurationSpec, namespace string) field.ErrorList {
	spec = spec.DeepCopy()
	SetDefaults(spec)
	v := &validator{claims: claims{}, copies: claims{}, domains: sets.New[string](), clusters: sets.New[string](), leaves: sets.New[string](), bundles: sets.New[string](),
		passwords: sets.New[string]()}

	v.ranges(spec.NodeCIDRs, specPath.Child("nodeCIDRs"))
	v.ranges(spec.ServiceCIDRs, specPath.Child("serviceCIDRs"))
	if spec.Preset != nil {
		v.preset(spec, namespace)
	}
	for i := range spec.TrustDomains {
		v.domain(&spec.TrustDomains[i], specPath.Child("trustDomains").Index(i))
	}
	v.serviceAddresses(spec)
	if spec.Aggregate != nil {
		v.aggregate(spec.Aggregate, specPath.Child("aggregate"))
	}
	if spec.Rollout != nil {
		v.rollout(spec.Rollout, spec.Aggregate, specPath.Child("rollout"))
	}
	v.rollouts(spec, namespace)
	v.quorums()
	for i := range spec.Clusters {
		v.cluster(&spec.Clusters[i], specPath.Child("clusters").Index(i))
	}
	for i := range spec.Copies {
		v.copy(&spec.Copies[i], namespace, specPath.Child("copies").Index(i))
	}
	return v.errs
}

// validator collects errors and the names that are unique in a namespace.
type validator struct {
	errs   field.ErrorList
	claims claims
	// copies are the objects in other namespaces, by namespace/name, and in other clusters, by cluster/namespace/name.
	copies  claims
	domains sets.Set[string]
	// passwords are the Secrets with passwords of keystores.
	passwords sets.Set[string]
	// clusters are the other clusters, by name.
	clusters sets.Set[string]
	leaves   sets.Set[string]
	bundles  sets.Set[string]
	// rolledOut are the parties whose evidence is a revision of the rollout.
	rolledOut []rolledOutParty
	// restarted are the workloads of all parties.
	restarted []restartedWorkload
}

func (v *validator) add(errs ...*field.Error) {
	v.errs = append(v.errs, errs...)
}

// preset validates the parameters, and then what they expand to. Its trust domains have paths by name: they have
// no index in the document.
func (v *validator) preset(spec *RotationConfigurationSpec, namespace string) {
	path := specPath.Child("preset")
	if errs := validatePreset(spec.Preset, namespace, path); len(errs) > 0 {
		v.add(errs...)
		return
	}
	expanded := expandPreset(spec.Preset, namespace)
	SetDefaults(expanded)
	for i := range expanded.TrustDomains {
		v.domain(&expanded.TrustDomains[i], path.Key(expanded.TrustDomains[i].Name))
	}
	if expanded.Aggregate != nil {
		v.aggregate(expanded.Aggregate, path.Key("aggregate"))
	}
	if expanded.Rollout != nil {
		v.rollout(expanded.Rollout, expanded.Aggregate, path.Key("rollout"))
	}
	for i := range expanded.Copies {
		v.copy(&expanded.Copies[i], namespace, path.Key("copies").Index(i))
	}
	v.add(presetBringsTwice(spec, namespace)...)
}

func (v *validator) domain(domain *TrustDomain, path *field.Path) {
	before := len(v.errs)
	v.add(validateName(domain.Name, path.Child("name"))...)
	if v.domains.Has(domain.Name) {
		v.add(field.Duplicate(path.Child("name"), domain.Name))
	}
	v.domains.Insert(domain.Name)

	v.object(kindSecret, domain.Signer.SecretName, path.Child("signer", "secretName"))
	v.add(validatePolicy(domain.Signer.Policy, path.Child("signer", "policy"))...)
	v.bundle(domain, path.Child("bundle", "configMapName"))

	declared := &declaredDomain{
		leaves: make(map[string]*Leaf, len(domain.Leaves)), bundle: domain.Bundle.ConfigMapName, unlisted: domain.UnlistedLeaves != nil,
		targets: domain.Bundle.InjectInto, editions: domain.Editions != nil,
	}
	if declared.editions {
		identity := path.Child("editions", "identity")
		v.add(invalid(identity, domain.Editions.Identity, validation.IsValidLabelValue(domain.Editions.Identity))...)
	}
	for i := range domain.Leaves {
		leaf, leafPath := &domain.Leaves[i], path.Child("leaves").Index(i)
		v.leaf(leaf, domain.Signer.Policy, leafPath)
		declared.leaves[leaf.SecretName] = leaf
		if !declared.editions {
			v.leaves.Insert(leaf.SecretName)
		}
	}

	for i := range domain.RelyingParties {
		party, partyPath := &domain.RelyingParties[i], path.Child("relyingParties").Index(i)
		v.add(validateParty(party, declared, partyPath)...)
		v.restarted = append(v.restarted, restartedOf(party, partyPath)...)
		if typeOf(party.Evidence.Kind).rolledOut && party.ForEachNode != nil {
			v.rolledOut = append(v.rolledOut, rolledOutParty{party: party, bundle: domain.Bundle.ConfigMapName, path: partyPath})
		}
	}
	v.add(validateReleased(domain, declared, path.Child("releasedLeaves"))...)
	v.add(validateReleasedMembers(domain.ReleasedMembers, path.Child("releasedMembers"))...)
	v.add(validateRenewalOrder(domain, path.Child("relyingParties"))...)
	// Otherwise the errors of a leaf or a party would be reported twice.
	if len(v.errs) == before {
		v.add(validateCoverage(domain, declared, path)...)
	}
}

// bundle claims the bundle of a domain. One of editions is a Secret, and nothing can collect, roll out or copy it.
func (v *validator) bundle(domain *TrustDomain, path *field.Path) {
	if domain.Editions != nil {
		v.object(kindSecret, domain.Bundle.ConfigMapName, path)
		return
	}
	v.object(kindConfigMap, domain.Bundle.ConfigMapName, path)
	v.bundles.Insert(domain.Bundle.ConfigMapName)
}

// validateReleased requires names of Secrets that the domain no longer declares.
func validateReleased(domain *TrustDomain, declared *declaredDomain, path *field.Path) field.ErrorList {
	return validateEach(domain.ReleasedLeaves, path, func(name string, path *field.Path) field.ErrorList {
		switch {
		case declared.leaves[name] != nil:
			return field.ErrorList{field.Invalid(path, name, "is one of leaves: remove it there first")}
		case name == domain.Signer.SecretName:
			return field.ErrorList{field.Invalid(path, name, "is the signer, not a leaf")}
		}
		return validateName(name, path)
	})
}

// validateReleasedMembers requires names of the form PARTY/MEMBER, as in blockers.
func validateReleasedMembers(names []string, path *field.Path) field.ErrorList {
	return validateEach(names, path, func(name string, path *field.Path) field.ErrorList {
		if party, member, _ := strings.Cut(name, "/"); party == "" || member == "" {
			return field.ErrorList{field.Invalid(path, name, "is not of the form PARTY/MEMBER, as in blockers")}
		}
		return nil
	})
}

// object validates the name of an object that exists once, and claims it.
func (v *validator) object(kind objectKind, name string, path *field.Path) {
	errs := validateName(name, path)
	if len(errs) == 0 {
		errs = v.claims.claim(kind, name, path)
	}
	v.add(errs...)
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}
