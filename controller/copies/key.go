// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// target is where a copy is.
type target struct {
	kind            configv1alpha1.CopyKind
	namespace, name string
}

// key is an entry of the queue: a copy that the configurations of a namespace ask for, or, with an empty target, all of
// them.
type key struct {
	from string
	target
}

// String is KIND NAMESPACE/NAME, or the namespace of the sources.
func (k key) String() string {
	if k.target == (target{}) {
		return k.from
	}
	return string(k.kind) + " " + k.namespace + "/" + k.name
}

func keyOf(from string, cp *configv1alpha1.Copy) key {
	return key{from: from, target: target{kind: cp.Kind, namespace: cp.ToNamespace, name: cp.ToName}}
}
