// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// permits returns nil if the node owner's class permits the pod of a manifest. It refuses every field that the class
// does not name and that is not known to be harmless, including fields of later Kubernetes versions. The error names
// each field, and what to request from the owner of the class.
//
// It checks the pod as kubelet reads it, with its placeholders replaced.
func permits(permitted *configv1alpha1.PermittedPod, pod *corev1.Pod, values Values) error {
	if permitted == nil {
		return errors.New("no StaticPodClass permits the pod")
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		return fmt.Errorf("look at the fields of pod %s: %w", pod.Name, err)
	}
	delete(fields, "status") // encode leaves it out of the manifest
	j := &judge{permitted: permitted, values: values}
	j.walk(fields, podFields, nil)
	j.metadata(pod)
	j.pod(&pod.Spec)
	j.volumes(pod.Spec.Volumes)
	for i := range pod.Spec.InitContainers {
		j.container(pod, &pod.Spec.InitContainers[i], specPath.Child("initContainers").Index(i))
	}
	for i := range pod.Spec.Containers {
		j.container(pod, &pod.Spec.Containers[i], specPath.Child("containers").Index(i))
	}
	return errors.Join(j.faults...)
}

var (
	metadataPath = field.NewPath("metadata")
	specPath     = field.NewPath("spec")
)

// judge collects the faults of a pod under a class.
type judge struct {
	permitted *configv1alpha1.PermittedPod
	values    Values
	faults    []error
}

// refuse reports a field that this class does not permit. ask is what the class would have to permit.
func (j *judge) refuse(at *field.Path, what, ask string) {
	j.faults = append(j.faults, fmt.Errorf("%s: %s: the StaticPodClass does not permit it: ask its owner for %s", at, what, ask))
}

// never reports a field that no class can permit.
func (j *judge) never(at *field.Path, what string) {
	j.faults = append(j.faults, fmt.Errorf("%s: %s: no StaticPodClass permits it: take it out of the manifest", at, what))
}

// walk refuses every field that is not among the known ones.
func (j *judge) walk(value any, known fieldSet, at *field.Path) {
	switch v := value.(type) {
	case map[string]any:
		if known.open {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, ok := known.fields[name]
			if !ok {
				if !empty(v[name]) {
					j.never(at.Child(name), "a static pod of a rollout needs no such field")
				}
				continue
			}
			j.walk(v[name], below, at.Child(name))
		}
	case []any:
		for i, item := range v {
			j.walk(item, known, at.Index(i))
		}
	}
}

// empty reports whether a field has no value: the encoder writes some fields that were never set.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
