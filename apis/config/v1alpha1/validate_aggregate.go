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

	if len(aggregate.Leaves) == 0 {
		v.add(field.Required(path.Child("leaves"), "at least one"))
	}
	v.add(validateSet(aggregate.Leaves, path.Child("leaves"), knownIn(v.leaves))...)

	bundles := path.Child("bundles")
	if len(aggregate.Bundles) == 0 {
		v.add(field.Required(bundles, "at least one"))
	}
	keys := sets.New[string]()
	for i, bundle := range aggregate.Bundles {
		key := bundles.Index(i).Child("key")
		switch {
		case bundle.Key == "":
			v.add(field.Required(key, ""))
		case keys.Has(bundle.Key):
			v.add(field.Duplicate(key, bundle.Key))
		default:
			v.add(invalid(key, bundle.Key, validation.IsConfigMapKey(bundle.Key))...)
		}
		keys.Insert(bundle.Key)
		v.add(knownIn(v.bundles)(bundle.ConfigMapName, bundles.Index(i).Child("configMapName"))...)
	}
}

// knownIn validates references to names that the trust domains declare.
func knownIn(names sets.Set[string]) func(string, *field.Path) field.ErrorList {
	return func(name string, path *field.Path) field.ErrorList {
		if name == "" {
			return field.ErrorList{field.Required(path, "")}
		}
		if !names.Has(name) {
			return field.ErrorList{field.NotFound(path, name)}
		}
		return nil
	}
}
