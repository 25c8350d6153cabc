// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
)

// ParseConfiguration loads a configuration.
func ParseConfiguration(cfg *configv1alpha1.RotationConfiguration) *Configuration {
	out := &Configuration{ObjectMeta: keptMeta(cfg), Status: *cfg.Status.DeepCopy()}
	loaded, err := configv1alpha1.Load(&cfg.Spec, cfg.Namespace)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Loaded = loaded
	return out
}

// ParseRecord reads what is remembered in a record.
func ParseRecord(r *configv1alpha1.RotationRecord) *Record {
	out := &Record{ObjectMeta: keptMeta(r), Domain: r.Spec.TrustDomain, Kind: r.Spec.Kind}
	said, err := record.Decode(r)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Said = said
	return out
}
