// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Expand returns a copy of a valid configuration in which the preset is replaced by its content, with all defaults.
// The trust domains and copies of the preset come before the explicit ones.
func Expand(spec *RotationConfigurationSpec, namespace string) *RotationConfigurationSpec {
	out := spec.DeepCopy()
	if spec.Preset != nil {
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
	}
	SetDefaults(out)
	return out
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
	switch {
	case preset.MTLSService != nil:
		return validateMTLSService(preset.MTLSService, path.Child("mtlsService"))
	case preset.OpenShiftEtcd != nil:
		return validateOpenShiftEtcd(preset.OpenShiftEtcd, path.Child("openshiftEtcd"))
	case preset.WebhookServer != nil:
		return validateWebhookServer(preset.WebhookServer, path.Child("webhookServer"))
	case preset.Name == PresetHostedEtcd:
		// Its names depend on the namespace: the defaults are validated too.
		return validateHostedEtcd(preset.HostedEtcd, namespace, path.Child("hostedEtcd"))
	case preset.KubeadmEtcd != nil:
		return validateKubeadmEtcd(preset.KubeadmEtcd, path.Child("kubeadmEtcd"))
	default:
		return nil
	}
}

func broughtTwice(name PresetName, part string) *field.Error {
	return field.Forbidden(specPath.Child(part), fmt.Sprintf("the preset %s defines the %s of the namespace", name, part))
}
