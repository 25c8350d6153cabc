// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// ParseConfigMap keeps of a ConfigMap what the model needs. The parts do not exclude each other: a label that is put on
// a bundle must not make its anchors vanish.
func ParseConfigMap(cm *corev1.ConfigMap, certs *pki.Cache) *ConfigMap {
	out := &ConfigMap{ObjectMeta: keptMeta(cm), Immutable: ptr.Deref(cm.Immutable, false)}
	if data, ok := valueOf(cm, BundleKey); ok && consents(&out.ObjectMeta) {
		out.Bundle = &Bundle{}
		out.Bundle.Anchors, out.Bundle.Fault = parseAnchors(BundleKey, data, certs)
	}
	if _, ok := cm.Labels[trust.LabelAggregate]; ok && consents(&out.ObjectMeta) {
		out.Aggregate = parseAggregateConfigMap(cm, certs)
	}
	if name, ok := cm.Labels[rollout.LabelStatus]; ok {
		out.Rollout = &RolloutStatus{}
		var err error
		if out.Rollout.Status, err = rollout.ReadStatus(cm, name); err != nil {
			out.Rollout.Error = fmt.Sprintf("%.512s", err)
		}
	}
	return out
}

// valueOf finds a value where a consumer that mounts the ConfigMap would see it: a key is either in Data or in
// BinaryData.
func valueOf(cm *corev1.ConfigMap, key string) ([]byte, bool) {
	if text, ok := cm.Data[key]; ok {
		return []byte(text), true
	}
	data, ok := cm.BinaryData[key]
	return data, ok
}

func parseAggregateConfigMap(cm *corev1.ConfigMap, certs *pki.Cache) map[string][]pki.Fingerprint {
	out := map[string][]pki.Fingerprint{}
	for key := range cm.BinaryData {
		out[key] = nil
	}
	for key, text := range cm.Data {
		// What cannot be read holds no anchor that anybody could use; the aggregate is written anew.
		list, _ := parseAnchors(key, []byte(text), certs)
		out[key] = fingerprints(list)
	}
	return out
}

func fingerprints(list []*pki.Certificate) []pki.Fingerprint {
	var out []pki.Fingerprint
	for _, cert := range list {
		out = append(out, cert.Fingerprint)
	}
	return out
}
