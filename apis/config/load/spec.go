// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/lru"

	"certrotation.dev/apis/config/definition"
	"certrotation.dev/apis/config/v1alpha1"
)

// admitted holds the hashes of specs that the definition admits: rules of thousands of leaves take a quarter of a
// second, and a configuration is loaded whenever its status changes.
var admitted = lru.New(1024)

// Spec expands, defaults and validates the spec of a configuration in a namespace. It does not change the spec, and the
// caller owns the result. The error is an aggregate of field errors. Their paths are in the object as it was written,
// and begin with spec.
func Spec(spec *v1alpha1.RotationConfigurationSpec, namespace string) (*v1alpha1.RotationConfigurationSpec, error) {
	errs, err := refused(spec)
	if err != nil {
		return nil, err
	}
	if len(errs) == 0 {
		errs = v1alpha1.Validate(spec, namespace)
	}
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return v1alpha1.Expand(spec, namespace), nil
}

// refused returns the errors of a spec by the definition.
func refused(spec *v1alpha1.RotationConfigurationSpec) (field.ErrorList, error) {
	data, err := json.Marshal(&v1alpha1.RotationConfiguration{Spec: *spec})
	if err != nil {
		return nil, fmt.Errorf("encode a spec: %w", err)
	}
	hash := sha256.Sum256(data)
	if _, ok := admitted.Get(hash); ok {
		return nil, nil
	}
	errs, err := validate(data)
	if err == nil && len(errs) == 0 {
		admitted.Add(hash, nil)
	}
	return errs, err
}

// validate returns the errors of a RotationConfiguration in JSON by the definition.
func validate(data []byte) (field.ErrorList, error) {
	d, err := definition.Configurations()
	if err != nil {
		return nil, err
	}
	return d.Validate(data)
}
