// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// WorkloadRollout is the evidence of pods whose template names the content that they start with. The annotation
// KIND.content.certrotation.dev/NAME holds the hash of the object NAME. KIND is configmap or secret.
type WorkloadRollout struct {
	// startGate is what stops a pod from starting with older content that the kubelet has cached. Defaults to
	// Required.
	// +optional
	StartGate StartGate `json:"startGate,omitempty"`
	// workloads of the members, in the namespace of the configuration. certrotation restarts them by these
	// annotations of their templates when a rotation waits for it. If empty, certrotation does not change the
	// templates.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Workloads []RestartedWorkload `json:"workloads,omitempty"`
}

// RestartedWorkload is a workload that certrotation restarts.
// +kubebuilder:validation:XValidation:rule="!has(self.quorum) || self.kind == 'StatefulSet'",message="quorum is for a StatefulSet whose pods are the members of an etcd cluster"
type RestartedWorkload struct {
	Workload `json:",inline"`
	// quorum is for a StatefulSet whose pods are the members of an etcd cluster. It defines how the members are
	// asked, before and after a pod is replaced. certrotation then replaces the pods itself, one at a time, by
	// evictions. The StatefulSet needs the updateStrategy OnDelete. A workload must have the same quorum wherever it
	// is named.
	// +optional
	Quorum *Quorum `json:"quorum,omitempty"`
}

// StartGate defines whether a pod must wait, at its start, for the content that its template names.
// +kubebuilder:validation:Enum=Required;Assumed
type StartGate string

// Start gates.
const (
	// StartGateRequired counts only pods with an init container that waits for the hash of the annotation with
	// `certrotation wait`.
	StartGateRequired StartGate = "Required"
	// StartGateAssumed counts pods without one too. The proof is weaker: the kubelet may have mounted older content.
	StartGateAssumed StartGate = "Assumed"
)

// workloadRolloutEvidence: what pods started with.
func workloadRolloutEvidence() evidenceType {
	return evidenceType{
		kind:         EvidenceWorkloadRollout,
		validate:     validateStart,
		validateLeaf: validateStartLeaf,
		setDefaults: func(party *RelyingParty) {
			if party.Evidence.WorkloadRollout == nil {
				party.Evidence.WorkloadRollout = &WorkloadRollout{}
			}
			rollout := party.Evidence.WorkloadRollout
			rollout.StartGate = cmp.Or(rollout.StartGate, StartGateRequired)
			for i := range rollout.Workloads {
				setQuorumDefaults(rollout.Workloads[i].Quorum)
			}
		},
	}
}

// maxContentName is the longest object name that an annotation can end with: the name part of an annotation has at
// most 63 characters.
const maxContentName = 63

// validateStart requires that the name of the bundle fits into an annotation of the template of the pods, and that it is
// the name of an object.
func validateStart(party *RelyingParty, domain *declaredDomain, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if domain.editions {
		errs = append(errs, field.Invalid(at.Child("kind"), party.Evidence.Kind, "a start gate waits for one object, and each edition is another: use mounted"))
	}
	if domain.verifiesAnything(party) && len(domain.bundle) > maxContentName {
		errs = append(errs, field.Invalid(at.Child("kind"), party.Evidence.Kind, unnamable("ConfigMap", domain.bundle)))
	}
	known := map[Workload]bool{}
	for i, workload := range party.Evidence.WorkloadRollout.Workloads {
		item := at.Child("workloadRollout", "workloads").Index(i)
		errs = append(errs, validateName(workload.Name, item.Child("name"))...)
		if known[workload.Workload] {
			errs = append(errs, field.Duplicate(item, workload.Workload))
		}
		known[workload.Workload] = true
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
