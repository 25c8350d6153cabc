// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Expand returns a copy in which the preset is replaced by what it stands for: its trust domains come before the
// explicit ones, and its aggregate is the configuration's. The copy has no preset. It fails on parameters that the preset
// cannot work with and on an explicit aggregate beside the preset's; everything else is left to Validate.
func Expand(cfg *RotationConfiguration, namespace string) (*RotationConfiguration, error) {
	out := cfg.DeepCopy()
	if cfg.Preset == nil {
		return out, nil
	}
	if err := validatePreset(cfg.Preset, field.NewPath("preset")).ToAggregate(); err != nil {
		return nil, err
	}
	domains, aggregate := expandPreset(cfg.Preset, namespace)
	if aggregate != nil {
		if cfg.Aggregate != nil {
			return nil, field.ErrorList{aggregateTwice(cfg.Preset.Name)}.ToAggregate()
		}
		out.Aggregate = aggregate
	}
	out.Preset = nil
	out.TrustDomains = append(domains, out.TrustDomains...)
	return out, nil
}

// expandPreset expects a valid preset.
func expandPreset(preset *Preset, namespace string) ([]TrustDomain, *Aggregate) {
	switch preset.Name {
	case PresetMTLSService:
		return []TrustDomain{expandMTLSService(*preset.MTLSService, namespace)}, nil
	case PresetOpenShiftEtcd:
		params := OpenShiftEtcdPreset{}
		if preset.OpenShiftEtcd != nil {
			params = *preset.OpenShiftEtcd
		}
		return expandOpenShiftEtcd(params)
	default:
		return nil, nil
	}
}

func validatePreset(preset *Preset, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	mtlsService, openShiftEtcd := path.Child("mtlsService"), path.Child("openshiftEtcd")
	switch preset.Name {
	case PresetMTLSService:
		errs = append(errs, forbidUnless(preset.OpenShiftEtcd == nil, openShiftEtcd, preset.Name)...)
		if preset.MTLSService == nil {
			return append(errs, field.Required(mtlsService, "the preset needs clients and serverAddresses"))
		}
		return append(errs, validateMTLSService(preset.MTLSService, mtlsService)...)
	case PresetOpenShiftEtcd:
		errs = append(errs, forbidUnless(preset.MTLSService == nil, mtlsService, preset.Name)...)
		if preset.OpenShiftEtcd == nil {
			return errs
		}
		return append(errs, validateOpenShiftEtcd(preset.OpenShiftEtcd, openShiftEtcd)...)
	case "":
		return field.ErrorList{field.Required(path.Child("name"), "")}
	default:
		return field.ErrorList{field.NotSupported(path.Child("name"), preset.Name,
			[]PresetName{PresetMTLSService, PresetOpenShiftEtcd})}
	}
}

func forbidUnless(ok bool, path *field.Path, name PresetName) field.ErrorList {
	if ok {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("these are not parameters of the preset %s", name))}
}

func aggregateTwice(name PresetName) *field.Error {
	return field.Forbidden(field.NewPath("aggregate"), fmt.Sprintf("the preset %s brings the aggregate of the namespace", name))
}
