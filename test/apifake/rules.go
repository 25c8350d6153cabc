// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// partOf returns a field of an object, invalid if its type does not have it.
func partOf(o object, name string) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName(name) }

// prepareCreation removes the status of a new object, and sets a pod to pending.
func prepareCreation(o object) {
	if status := partOf(o, "Status"); status.IsValid() {
		status.SetZero()
	}
	if pod, ok := o.(*corev1.Pod); ok {
		pod.Status.Phase = corev1.PodPending
	}
	if partOf(o, "Spec").IsValid() {
		o.SetGeneration(1)
	}
}

// prepareUpdate restores what an update must not change: the status, or everything else for the status subresource.
func prepareUpdate(r *Request, live, o object) (object, error) {
	status := partOf(o, "Status")
	switch {
	case r.Subresource == "status" && status.IsValid():
		changed := live.DeepCopyObject().(object)
		partOf(changed, "Status").Set(status)
		return changed, nil
	case r.Subresource != "":
		return nil, refused(r)
	case status.IsValid():
		status.Set(partOf(live.DeepCopyObject().(object), "Status"))
	}
	o.SetNamespace(live.GetNamespace())
	o.SetUID(live.GetUID())
	o.SetCreationTimestamp(live.GetCreationTimestamp())
	o.SetGeneration(live.GetGeneration())
	if spec := partOf(o, "Spec"); spec.IsValid() && !equality.Semantic.DeepEqual(spec.Interface(), partOf(live, "Spec").Interface()) {
		o.SetGeneration(live.GetGeneration() + 1)
	}
	return o, nil
}

// same reports whether a write changes nothing.
func same(live, o object) bool {
	gvk := o.GetObjectKind().GroupVersionKind()
	o.GetObjectKind().SetGroupVersionKind(live.GetObjectKind().GroupVersionKind())
	defer o.GetObjectKind().SetGroupVersionKind(gvk)
	return equality.Semantic.DeepEqual(live, o)
}

// immutable refuses changes of immutable objects and fields.
func immutable(r *Request, live, o object) error {
	var faults field.ErrorList
	kind := "Secret"
	forbid := func(path string, unchanged bool, text string) {
		if !unchanged {
			faults = append(faults, field.Forbidden(field.NewPath(path), text))
		}
	}
	const set = "field is immutable when `immutable` is set"
	switch live := live.(type) {
	case *corev1.Secret:
		changed, ok := o.(*corev1.Secret)
		if !ok {
			return fmt.Errorf("apifake: %s sends %T", r, o)
		}
		if changed.Type == "" {
			changed.Type = live.Type
		}
		if changed.Type != live.Type {
			faults = append(faults, field.Invalid(field.NewPath("type"), changed.Type, "field is immutable"))
		}
		if live.Immutable != nil && *live.Immutable {
			forbid("data", equality.Semantic.DeepEqual(live.Data, changed.Data), set)
			forbid("immutable", changed.Immutable != nil && *changed.Immutable, set)
		}
	case *corev1.ConfigMap:
		kind = "ConfigMap"
		changed, ok := o.(*corev1.ConfigMap)
		if !ok {
			return fmt.Errorf("apifake: %s sends %T", r, o)
		}
		if live.Immutable != nil && *live.Immutable {
			forbid("data", equality.Semantic.DeepEqual(live.Data, changed.Data), set)
			forbid("binaryData", equality.Semantic.DeepEqual(live.BinaryData, changed.BinaryData), set)
			forbid("immutable", changed.Immutable != nil && *changed.Immutable, set)
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return apierrors.NewInvalid(r.Resource.GroupVersion().WithKind(kind).GroupKind(), r.Name, faults)
}
