// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// expand returns a copy in which the preset is replaced by its content. The trust domains and copies of the preset
// come before the explicit ones, and the configuration gets its aggregate and rollout. It fails on invalid
// parameters of the preset, and on a second aggregate or rollout. Validate checks everything else.
func expand(spec *RotationConfigurationSpec, namespace string) (*RotationConfigurationSpec, error) {
	out := spec.DeepCopy()
	if spec.Preset == nil {
		return out, nil
	}
	if err := validatePreset(spec.Preset, namespace, specPath.Child("preset")).ToAggregate(); err != nil {
		return nil, err
	}
	if errs := presetBringsTwice(spec, namespace); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	expanded := expandPreset(spec.Preset, namespace)
	out.Preset = nil
	out.TrustDomains = append(expanded.TrustDomains, out.TrustDomains...)
	out.Copies = append(expanded.Copies, out.Copies...)
	if expanded.Aggregate != nil {
		out.Aggregate = expanded.Aggregate
	}
	if expanded.Rollout != nil {
		out.Rollout = expanded.Rollout
	}
	return out, nil
}

// presetBringsTwice expects a valid preset and reports what both the preset and the configuration define.
func presetBringsTwice(spec *RotationConfigurationSpec, namespace string) field.ErrorList {
	var errs field.ErrorList
	expanded := expandPreset(spec.Preset, namespace)
	if expanded.Aggregate != nil && spec.Aggregate != nil {
		errs = append(errs, broughtTwice(spec.Preset.Name, "aggregate"))
	}
	if expanded.Rollout != nil && spec.Rollout != nil {
		errs = append(errs, broughtTwice(spec.Preset.Name, "rollout"))
	}
	return errs
}

// expandPreset expects a valid preset.
func expandPreset(preset *Preset, namespace string) *RotationConfigurationSpec {
	switch preset.Name {
	case PresetMTLSService:
		return &RotationConfigurationSpec{TrustDomains: []TrustDomain{expandMTLSService(*preset.MTLSService, namespace)}}
	case PresetWebhookServer:
		return &RotationConfigurationSpec{TrustDomains: []TrustDomain{expandWebhookServer(preset.WebhookServer, namespace)}}
	case PresetOpenShiftEtcd:
		params := OpenShiftEtcdPreset{}
		if preset.OpenShiftEtcd != nil {
			params = *preset.OpenShiftEtcd
		}
		return expandOpenShiftEtcd(params)
	case PresetHostedEtcd:
		return newHostedEtcd(preset.HostedEtcd, namespace).expand()
	case PresetKubeadmEtcd:
		return newKubeadmEtcd(preset.KubeadmEtcd).expand()
	default:
		return &RotationConfigurationSpec{}
	}
}

func validatePreset(preset *Preset, namespace string, path *field.Path) field.ErrorList {
	errs := forbidOthers(preset, path)
	switch preset.Name {
	case PresetMTLSService:
		params := path.Child("mtlsService")
		if preset.MTLSService == nil {
			return append(errs, field.Required(params, "the preset needs its clients, and the addresses or the pods of the server"))
		}
		return append(errs, validateMTLSService(preset.MTLSService, params)...)
	case PresetOpenShiftEtcd:
		if preset.OpenShiftEtcd == nil {
			return errs
		}
		return append(errs, validateOpenShiftEtcd(preset.OpenShiftEtcd, path.Child("openshiftEtcd"))...)
	case PresetWebhookServer:
		params := path.Child("webhookServer")
		if preset.WebhookServer == nil {
			return append(errs, field.Required(params, "the preset needs injectInto and pods"))
		}
		return append(errs, validateWebhookServer(preset.WebhookServer, params)...)
	case PresetHostedEtcd:
		return append(errs, validateHostedEtcd(preset.HostedEtcd, namespace, path.Child("hostedEtcd"))...)
	case PresetKubeadmEtcd:
		if preset.KubeadmEtcd == nil {
			return errs
		}
		return append(errs, validateKubeadmEtcd(preset.KubeadmEtcd, path.Child("kubeadmEtcd"))...)
	case "":
		return field.ErrorList{field.Required(path.Child("name"), "")}
	default:
		return field.ErrorList{field.NotSupported(path.Child("name"), preset.Name,
			[]PresetName{PresetMTLSService, PresetOpenShiftEtcd, PresetWebhookServer, PresetHostedEtcd, PresetKubeadmEtcd})}
	}
}

// forbidOthers refuses the parameters of presets other than the named one.
func forbidOthers(preset *Preset, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(set bool, of PresetName, params string) {
		if set && preset.Name != of {
			errs = append(errs, field.Forbidden(path.Child(params), fmt.Sprintf("these are not parameters of the preset %s", preset.Name)))
		}
	}
	forbid(preset.MTLSService != nil, PresetMTLSService, "mtlsService")
	forbid(preset.OpenShiftEtcd != nil, PresetOpenShiftEtcd, "openshiftEtcd")
	forbid(preset.WebhookServer != nil, PresetWebhookServer, "webhookServer")
	forbid(preset.HostedEtcd != nil, PresetHostedEtcd, "hostedEtcd")
	forbid(preset.KubeadmEtcd != nil, PresetKubeadmEtcd, "kubeadmEtcd")
	return errs
}

func broughtTwice(name PresetName, part string) *field.Error {
	return field.Forbidden(specPath.Child(part), fmt.Sprintf("the preset %s defines the %s of the namespace", name, part))
}
