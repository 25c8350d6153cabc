// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxContentName is the longest object name that an annotation can end with: the name part of an annotation has at
// most 63 characters.
const maxContentName = 63

// workloadKinds in the order in which they are offered.
var workloadKinds = []WorkloadKind{Deployment, StatefulSet, DaemonSet}

// validateStart requires pods, and a bundle whose name fits into an annotation of their template.
func validateStart(party *RelyingParty, domain *declaredDomain, kind *field.Path) field.ErrorList {
	errs := seenOnPods(party, kind)
	if domain.verifiesAnything(party) && len(domain.bundle) > maxContentName {
		errs = append(errs, field.Invalid(kind, party.Evidence.Kind, unnamable("ConfigMap", domain.bundle)))
	}
	return errs
}

// validateStartLeaf refuses leaves for each node: all pods of a template start with the same Secrets. The name
// must fit into an annotation.
func validateStartLeaf(leaf *Leaf, path *field.Path) field.ErrorList {
	switch {
	case leaf.ForEachNode != nil:
		return field.ErrorList{field.Invalid(path, leaf.SecretName, "with evidence of the kind workloadRollout the pods of a template start "+
			"with the same Secrets, and this leaf is another one on each node")}
	case len(leaf.SecretName) > maxContentName:
		return field.ErrorList{field.Invalid(path, leaf.SecretName, unnamable("Secret", leaf.SecretName))}
	}
	return nil
}

// unnamable explains why no annotation can name the content of an object.
func unnamable(kind, name string) string {
	return fmt.Sprintf("pods name what they start with in annotations, and none can end with the name of %s/%s, which has more than %d characters",
		kind, name, maxContentName)
}

func validateWorkloadRollout(rollout *WorkloadRollout, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if rollout.StartGate != StartGateRequired && rollout.StartGate != StartGateAssumed {
		errs = append(errs, field.NotSupported(path.Child("startGate"), rollout.StartGate, []StartGate{StartGateRequired, StartGateAssumed}))
	}
	known := map[Workload]bool{}
	for i, workload := range rollout.Workloads {
		at := path.Child("workloads").Index(i)
		if !slices.Contains(workloadKinds, workload.Kind) {
			errs = append(errs, field.NotSupported(at.Child("kind"), workload.Kind, workloadKinds))
		}
		for _, message := range validation.IsDNS1123Subdomain(workload.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), workload.Name, message))
		}
		if known[workload.Workload] {
			errs = append(errs, field.Duplicate(at, workload.Workload))
		}
		known[workload.Workload] = true
		if workload.Quorum != nil && workload.Kind != StatefulSet {
			errs = append(errs, field.Forbidden(at.Child("quorum"), "is for a StatefulSet whose pods are the members of an etcd cluster"))
		}
	}
	return errs
}
