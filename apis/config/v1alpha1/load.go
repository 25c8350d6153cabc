// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Load turns the spec of a configuration in a namespace into one that may be acted upon: with the preset expanded,
// defaulted and valid. The spec is not changed; the caller owns what is returned. The error is an aggregate whose field
// errors name paths in the object as it was written, beginning with spec.
func Load(spec *RotationConfigurationSpec, namespace string) (*RotationConfigurationSpec, error) {
	if err := Validate(spec, namespace).ToAggregate(); err != nil {
		return nil, err
	}
	expanded, err := Expand(spec, namespace)
	if err != nil {
		return nil, err
	}
	SetDefaults(expanded)
	return expanded, nil
}
