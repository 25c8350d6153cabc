// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/trust"
)

// ParseConfigMap keeps of a ConfigMap what the model needs. The parts do not exclude each other: a label that is put on
// a bundle must not make its anchors vanish.
func ParseConfigMap(cm *corev1.ConfigMap, certs *pki.Cache) *ConfigMap {
	out := &ConfigMap{ObjectMeta: keptMeta(cm)}
	if _, ok := cm.Labels[configv1alpha1.ConfigLabel]; ok {
		out.Configuration = parseConfiguration(cm)
	}
	if data, ok := valueOf(cm, BundleKey); ok {
		out.Bundle = &Bundle{}
		out.Bundle.Anchors, out.Bundle.Fault = parseAnchors(BundleKey, data, certs)
	}
	if _, ok := cm.Labels[trust.LabelAggregate]; ok {
		out.Aggregate = parseAggregateConfigMap(cm, certs)
	}
	if _, ok := cm.Labels[trust.LabelEvidence]; ok {
		out.Evidence = parseEvidence(cm)
	}
	if _, ok := cm.Labels[rollout.LabelStatus]; ok {
		out.Rollout = parseRolloutStatus(cm)
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

func parseConfiguration(cm *corev1.ConfigMap) *Configuration {
	data, ok := valueOf(cm, configv1alpha1.ConfigKey)
	if !ok {
		return &Configuration{Error: fmt.Sprintf("the key %s is missing", configv1alpha1.ConfigKey)}
	}
	loaded, err := configv1alpha1.Load(data, cm.Namespace)
	if err != nil {
		return &Configuration{Error: err.Error()}
	}
	return &Configuration{Loaded: loaded}
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

// parseEvidence takes a record only under the name that belongs to its member. Otherwise two records could say
// different things of one member.
func parseEvidence(cm *corev1.ConfigMap) *Evidence {
	domain, party, member, observation, err := evidence.Decode(cm.Data)
	if err != nil {
		return &Evidence{Error: err.Error()}
	}
	if want := evidence.RecordName(domain, party, member); cm.Name != want {
		return &Evidence{Error: fmt.Sprintf("a record of this member must be named %s", want)}
	}
	return &Evidence{Domain: domain, Party: party, Member: member, Observation: observation}
}
