// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// Reasons for which a rollout does nothing on the nodes.
const (
	// ReasonNoClass: the StaticPodClass does not exist, or cannot be read.
	ReasonNoClass trust.Reason = "NoClass"
	// ReasonClassRefuses: it does not name the namespace or the static pod.
	ReasonClassRefuses trust.Reason = "ClassRefuses"
)

// classKind is the kind of the object in problems.
const classKind trust.ObjectKind = "StaticPodClass"

// Class is what is known about a StaticPodClass.
type Class struct {
	metav1.ObjectMeta
	// Loaded has every default filled in; nil if the class was refused. It is shared and must not be changed.
	Loaded *configv1alpha1.StaticPodClassSpec
	// Error is the text of the error if Loaded is nil.
	Error string
}

// ParseClass loads a class.
func ParseClass(class *configv1alpha1.StaticPodClass) *Class {
	out := &Class{ObjectMeta: metav1.ObjectMeta{Name: class.Name, UID: class.UID, ResourceVersion: class.ResourceVersion}}
	loaded, err := configv1alpha1.LoadClass(&class.Spec)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Loaded = loaded
	return out
}

// class is the one that a rollout names, if it may use it.
func (b *builder) class(cfg *configv1alpha1.StaticPodRollout) (*configv1alpha1.StaticPodClassSpec, *trust.Problem) {
	name, namespace := cfg.ClassName, b.sources.Namespace
	class := b.sources.Classes[name]
	switch {
	case class == nil:
		return nil, problemOf(classKind, name, ReasonNoClass,
			"it does not exist, so nothing is permitted on the nodes; have their owner create it, or correct rollout.staticPod.className")
	case class.Loaded == nil:
		return nil, problemOf(classKind, name, ReasonNoClass, "it is not valid, so nothing is permitted on the nodes: "+class.Error)
	case !slices.Contains(class.Loaded.Namespaces, namespace):
		return nil, problemOf(classKind, name, ReasonClassRefuses, fmt.Sprintf(
			"it does not list the namespace %s; have its owner add that to spec.namespaces", namespace))
	case class.Loaded.PodName != cfg.Name:
		return nil, problemOf(classKind, name, ReasonClassRefuses, fmt.Sprintf(
			"it permits the static pod %s, and not %s; have its owner make a class for that", class.Loaded.PodName, cfg.Name))
	}
	return class.Loaded, nil
}
