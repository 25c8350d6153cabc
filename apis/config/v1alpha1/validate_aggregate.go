// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// aggregate must run after the trust domains: it refers to their leaves and bundles.
func (v *validator) aggregate(aggregate *Aggregate, path *field.Path) {
	v.object(kindSecret, aggregate.SecretName, path.Child("secretName"))
	v.object(kindConfigMap, aggregate.ConfigMapName, path.Child("configMapName"))

	v.add(validateEach(aggregate.Leaves, path.Child("leaves"), knownIn(v.leaves))...)
	for i, bundle := range aggregate.Bundles {
		at := path.Child("bundles").Index(i)
		v.add(invalid(at.Child("key"), bundle.Key, validation.IsConfigMapKey(bundle.Key))...)
		v.add(knownIn(v.bundles)(bundle.ConfigMapName, at.Child("configMapName"))...)
	}
}

// knownIn validates references to names that the trust domains declare.
func knownIn(names sets.Set[string]) func(string, *field.Path) field.ErrorList {
	return func(name string, path *field.Path) field.ErrorList {
		if !names.Has(name) {
			return field.ErrorList{field.NotFound(path, name)}
		}
		return nil
	}
}
