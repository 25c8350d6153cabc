// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/trust"
)

// described are the annotations that describe a certificate. A copy must have the values of its source, or it
// misleads its readers.
func described() []string {
	return []string{trust.AnnotationNotBefore, trust.AnnotationNotAfter, trust.AnnotationIssuer, trust.AnnotationHostnames}
}

// mark labels an object as a copy, and annotates its source and its content.
func mark(object *metav1.ObjectMeta, t *task, source *metav1.ObjectMeta, hash string) {
	annotations := map[string]string{
		trust.AnnotationCopyOf:         t.key.from + "/" + t.copy.Name,
		rotation.AnnotationContentHash: hash,
	}
	for _, key := range described() {
		if value, ok := source.Annotations[key]; ok {
			annotations[key] = value
		}
	}
	if t.key.within() {
		annotations[trust.AnnotationConfiguration] = t.configuration
	}
	object.Annotations = with(object.Annotations, annotations)
	object.Labels = with(object.Labels, map[string]string{t.key.label(): labelValue(t.key.from, t.copy.Name)})
}

// label marks a copy.
func (t target) label() string {
	if t.cluster == "" {
		return trust.LabelCopyOf
	}
	return trust.LabelRemoteCopyOf
}

// unmark removes what mark added, except the consent to a configuration, which may be older than the copy.
func unmark(object *metav1.ObjectMeta, t target) {
	for _, key := range append(described(), trust.AnnotationCopyOf, rotation.AnnotationContentHash) {
		delete(object.Annotations, key)
	}
	delete(object.Labels, t.label())
}

// sourceOf is the source that an object names in its mark.
func sourceOf(object metav1.Object, label string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(object.GetAnnotations()[trust.AnnotationCopyOf], "/")
	return namespace, name, ok && object.GetLabels()[label] != ""
}

func with[V any](into, from map[string]V) map[string]V {
	if into == nil {
		into = make(map[string]V, len(from))
	}
	maps.Copy(into, from)
	return into
}

// labelValue is NAMESPACE.NAME, or its beginning and a hash if that is too long for a label.
func labelValue(namespace, name string) string {
	value := namespace + "." + name
	if len(value) <= validation.LabelValueMaxLength {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	tail := "-" + hex.EncodeToString(sum[:8])
	return value[:validation.LabelValueMaxLength-len(tail)] + tail
}
