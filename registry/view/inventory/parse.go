// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/trust"
)

// keptMeta keeps the part of the metadata of an object that the model needs. The maps are new, so that the object can
// be collected.
func keptMeta(object metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              object.GetName(),
		Namespace:         object.GetNamespace(),
		UID:               object.GetUID(),
		ResourceVersion:   object.GetResourceVersion(),
		Generation:        object.GetGeneration(),
		CreationTimestamp: object.GetCreationTimestamp(),
		DeletionTimestamp: object.GetDeletionTimestamp(),
		Finalizers:        slices.Clone(object.GetFinalizers()),
		Annotations:       keptEntries(object.GetAnnotations(), trust.KnownAnnotation),
		Labels:            keptEntries(object.GetLabels(), trust.KnownLabel),
	}
}

// maxAnnotation is how much is kept of one value: the longest that the model reads lists the names of a certificate.
const maxAnnotation = 64 << 10

// keptEntries returns the entries whose keys are known, nil if there are none.
func keptEntries(in map[string]string, known func(string) bool) map[string]string {
	var out map[string]string
	for key, value := range in {
		if !known(key) {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		if len(value) > maxAnnotation {
			// Nobody could have meant it. It is not left out: that would be a request.
			value = strings.Clone(value[:maxAnnotation])
		}
		out[key] = value
	}
	return out
}
