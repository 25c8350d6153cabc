// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"certrotation.dev/registry/trust"
)

// finalizersField changes in the edit that lets a deleted object go.
const finalizersField = "metadata.finalizers"

// changedMetadata names the differing annotations and labels that the model reads. It also names the finalizers if an
// edit removes the last one of an object that was deleted.
func changedMetadata(old, changed *metav1.ObjectMeta) []string {
	fields := changedValues("metadata.annotations", old.Annotations, changed.Annotations, trust.KnownAnnotation)
	fields = append(fields, changedValues("metadata.labels", old.Labels, changed.Labels, trust.KnownLabel)...)
	if old.DeletionTimestamp != nil && len(old.Finalizers) > 0 && len(changed.Finalizers) == 0 {
		fields = append(fields, finalizersField)
	}
	return fields
}

// changedImmutable names the field if it differs: an immutable object can be neither changed nor rotated.
func changedImmutable(old, changed *bool) []string {
	if ptr.Deref(old, false) == ptr.Deref(changed, false) {
		return nil
	}
	return []string{"immutable"}
}

func changedBytes(path string, old, changed map[string][]byte) []string {
	return changedKeys(path, old, changed, bytes.Equal, func(string) bool { return true })
}

func changedValues(path string, old, changed map[string]string, known func(string) bool) []string {
	return changedKeys(path, old, changed, func(a, b string) bool { return a == b }, known)
}

// changedKeys names the known keys that were added, removed or changed, as path[key], sorted.
func changedKeys[V any](path string, old, changed map[string]V, equal func(a, b V) bool, known func(string) bool) []string {
	var fields []string
	for key, was := range old {
		if is, ok := changed[key]; known(key) && (!ok || !equal(was, is)) {
			fields = append(fields, fmt.Sprintf("%s[%s]", path, key))
		}
	}
	for key := range changed {
		if _, ok := old[key]; !ok && known(key) {
			fields = append(fields, fmt.Sprintf("%s[%s]", path, key))
		}
	}
	slices.Sort(fields)
	return fields
}

// fieldOf returns the field of a cause: the only changed one, or the map that contains all of them, or "" for the
// whole object.
func fieldOf(fields []string) string {
	if len(fields) == 1 {
		return fields[0]
	}
	common := ""
	for i, field := range fields {
		parent, _, _ := strings.Cut(field, "[")
		if i > 0 && parent != common {
			return ""
		}
		common = parent
	}
	return common
}
