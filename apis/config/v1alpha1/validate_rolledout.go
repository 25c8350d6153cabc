// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rolledOutParty is a party whose evidence is what a rollout has brought to its nodes.
type rolledOutParty struct {
	party *RelyingParty
	// bundle is the ConfigMap of its trust domain.
	bundle string
	path   *field.Path
}

// rollouts expects that all else has been visited. A rollout proves what it brings: the bundles and leaves of the aggregate.
func (v *validator) rollouts(spec *RotationConfigurationSpec, namespace string) {
	aggregate, rollout := spec.Aggregate, spec.Rollout
	if spec.Preset != nil && len(validatePreset(spec.Preset, specPath)) == 0 {
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
	if rollout == nil || rollout.StaticPod == nil {
		return field.ErrorList{field.Invalid(kind, EvidenceStaticPodRevision, "there is no rollout whose revisions could be evidence")}
	}
	if aggregate == nil || !slices.Contains(rollout.StaticPod.ConfigMapNames, aggregate.ConfigMapName) ||
		!slices.ContainsFunc(aggregate.Bundles, func(b AggregatedBundle) bool { return b.ConfigMapName == p.bundle }) {
		return field.ErrorList{field.Invalid(kind, EvidenceStaticPodRevision, fmt.Sprintf(
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
