// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Keys of a bundle ConfigMap that certrotation writes itself.
const (
	anchorsKey    = "ca-bundle.crt"
	supersededKey = "superseded-contents"
)

// validateBundle requires valid and distinct keys, and distinct targets.
func validateBundle(bundle *Bundle, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	taken := []string{anchorsKey, supersededKey}
	store := func(store *TrustStore, path *field.Path) {
		if store == nil {
			return
		}
		errs = append(errs, invalid(path.Child("key"), store.Key, validation.IsConfigMapKey(store.Key))...)
		if slices.Contains(taken, store.Key) {
			errs = append(errs, field.Duplicate(path.Child("key"), store.Key))
		}
		taken = append(taken, store.Key)
	}
	if formats := bundle.AdditionalFormats; formats != nil {
		store(formats.PKCS12, path.Child("additionalFormats", "pkcs12"))
		store(formats.JKS, path.Child("additionalFormats", "jks"))
	}
	for i, target := range bundle.InjectInto {
		if slices.Contains(bundle.InjectInto[:i], target) {
			errs = append(errs, field.Duplicate(path.Child("injectInto").Index(i), target.Name))
		}
	}
	return errs
}
