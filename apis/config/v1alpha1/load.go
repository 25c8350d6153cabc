// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Load turns the value of ConfigKey of a ConfigMap in a namespace into a configuration that may be acted upon: decoded
// strictly, with the preset expanded, defaulted and valid. The error is an aggregate whose field errors name paths in
// the document as it was written.
func Load(data []byte, namespace string) (*RotationConfiguration, error) {
	cfg, err := Decode(data)
	if err != nil {
		return nil, err
	}
	if err := Validate(cfg, namespace).ToAggregate(); err != nil {
		return nil, err
	}
	cfg, err = Expand(cfg, namespace)
	if err != nil {
		return nil, err
	}
	SetDefaults(cfg)
	return cfg, nil
}
