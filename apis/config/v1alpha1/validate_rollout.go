// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rollout must run after the trust domains and the aggregate, with defaults set.
func (v *validator) rollout(rollout *Rollout, aggregate *Aggregate, at *field.Path) {
	r, at := rollout.StaticPod, at.Child("staticPod")
	// The name becomes part of the names of pods and directories, and of labels.
	v.add(validateLabelName(r.Name, at.Child("name"))...)
	v.add(validateSelector(&r.NodeSelector, at.Child("nodeSelector"))...)
	v.add(validateName(r.PodConfigMapName, at.Child("podConfigMapName"))...)
	v.add(validateEach(r.Companions, at.Child("companions"), validateLabelName)...)
	if slices.Contains(r.Companions, r.Name) {
		v.add(field.Invalid(at.Child("companions"), r.Name, "is name already"))
	}
	if slices.Contains(r.Companions, "pod") {
		v.add(field.Invalid(at.Child("companions"), "pod", fmt.Sprintf("the key %s of podConfigMapName has the manifest of the static pod %s", PodKey, r.Name)))
	}
	if aggregate == nil && len(r.ConfigMapNames) == 0 {
		v.add(field.Required(at.Child("configMapNames"), "there is no aggregate whose ConfigMap could be the default"))
	}
	v.add(validateEach(r.ConfigMapNames, at.Child("configMapNames"), validateName)...)
	if slices.Contains(r.ConfigMapNames, r.PodConfigMapName) {
		v.add(field.Invalid(at.Child("configMapNames"), r.PodConfigMapName, "is podConfigMapName already"))
	}
	v.add(validateEach(r.SecretNames, at.Child("secretNames"), validateName)...)
	v.add(validateEach(r.ReloadedSecretNames, at.Child("reloadedSecretNames"), knownIn(sets.New(r.SecretNames...)))...)
	if aggregate != nil && slices.Contains(r.SecretNames, aggregate.SecretName) && !slices.Contains(r.ReloadedSecretNames, aggregate.SecretName) {
		v.add(field.Invalid(at.Child("reloadedSecretNames"), r.ReloadedSecretNames, fmt.Sprintf(
			"must have %s, the Secret of the aggregate: a node sees only its own leaves of it, so it cannot be part of what all nodes restart for",
			aggregate.SecretName)))
	}
	v.add(validateName(r.ClassName, at.Child("className"))...)
	if r.Quorum != nil {
		v.add(validateNodeName(r.Quorum.Endpoint, true, at.Child("quorum", "endpoint"), validateEndpoint)...)
		v.quorum(r.Quorum, at.Child("quorum"))
	}
}

// quorum validates everything except the endpoint, which differs between nodes and pods.
func (v *validator) quorum(quorum *Quorum, at *field.Path) {
	if quorum.ServerName != "" {
		v.add(validateName(quorum.ServerName, at.Child("serverName"))...)
	}
	v.add(knownIn(v.leaves)(quorum.ClientLeaf, at.Child("clientLeaf"))...)
	v.add(knownIn(v.bundles)(quorum.BundleConfigMapName, at.Child("bundleConfigMapName"))...)
}

func validateEndpoint(endpoint string, at *field.Path) field.ErrorList {
	parsed, err := url.Parse(endpoint)
	if err != nil || parsed.Scheme != "https" || parsed.Port() == "" || parsed.Path != "" || parsed.User != nil || parsed.RawQuery != "" {
		return field.ErrorList{field.Invalid(at, endpoint, fmt.Sprintf("must be https://%s:port", NodePlaceholder))}
	}
	return nil
}

func validateLabelName(name string, at *field.Path) field.ErrorList {
	return invalid(at, name, validation.IsDNS1123Label(name))
}

// rolledOutParty is a party whose evidence is what a rollout has installed on its nodes.
type rolledOutParty struct {
	party *RelyingParty
	// bundle is the ConfigMap of its trust domain.
	bundle string
	path   *field.Path
}

// rollouts must run last. A rollout is evidence only for what it distributes: the bundles and leaves of the
// aggregate.
func (v *validator) rollouts(spec *RotationConfigurationSpec, namespace string) {
	aggregate, rollout := spec.Aggregate, spec.Rollout
	if spec.Preset != nil && len(validatePreset(spec.Preset, namespace, specPath)) == 0 {
		expanded := expandPreset(spec.Preset, namespace)
		SetDefaults(expanded)
		if expanded.Aggregate != nil {
			aggregate = expanded.Aggregate
		}
		if expanded.Rollout != nil {
			rollout = expanded.Rollout
		}
	}
	for _, p := range v.rolledOut {
		v.add(p.validate(aggregate, rollout)...)
	}
}

func (p *rolledOutParty) validate(aggregate *Aggregate, rollout *Rollout) field.ErrorList {
	kind := p.path.Child("evidence", "kind")
	if rollout == nil {
		return field.ErrorList{field.Invalid(kind, p.party.Evidence.Kind, "there is no rollout whose revisions could be evidence")}
	}
	if aggregate == nil || !slices.Contains(rollout.StaticPod.ConfigMapNames, aggregate.ConfigMapName) ||
		!slices.ContainsFunc(aggregate.Bundles, func(b AggregatedBundle) bool { return b.ConfigMapName == p.bundle }) {
		return field.ErrorList{field.Invalid(kind, p.party.Evidence.Kind, fmt.Sprintf(
			"the rollout does not bring the ConfigMap %s to the nodes: add it to the bundles of the aggregate, and the aggregate's ConfigMap "+
				"to the configMapNames of the rollout", p.bundle))}
	}
	var errs field.ErrorList
	for i, leaf := range p.party.Presents {
		if !slices.Contains(rollout.StaticPod.SecretNames, aggregate.SecretName) || !slices.Contains(aggregate.Leaves, leaf) {
			errs = append(errs, field.Invalid(p.path.Child("presents").Index(i), leaf,
				"the rollout does not bring the leaf to the nodes: add it to the leaves of the aggregate, and the aggregate's Secret to the "+
					"secretNames of the rollout, or have another party with another kind of evidence present it"))
		}
	}
	return errs
}
