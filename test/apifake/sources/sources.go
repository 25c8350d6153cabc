// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sources reads an apifake server as the inventory does: the current objects of a namespace, or those that
// caches have seen. It makes no requests, so a test's count of requests stays right.
package sources

import (
	corev1 "k8s.io/api/core/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// Live returns the Secrets, ConfigMaps, configurations and records of a namespace, and the nodes of the cluster.
func Live(api *apifake.Server, namespace string) *inventory.Sources {
	return of(api, namespace, apifake.Live)
}

// Cached returns those that caches have seen ([apifake.Server.Lag]).
func Cached(api *apifake.Server, namespace string) *inventory.Sources {
	return of(api, namespace, apifake.Cached)
}

func of(api *apifake.Server, namespace string, from apifake.Side) *inventory.Sources {
	s := &inventory.Sources{Namespace: namespace}
	for _, secret := range apifake.All(api, from, &corev1.Secret{}, namespace) {
		s = s.WithSecret(secret.Name, secret)
	}
	for _, configMap := range apifake.All(api, from, &corev1.ConfigMap{}, namespace) {
		s = s.WithConfigMap(configMap.Name, configMap)
	}
	for _, configuration := range apifake.All(api, from, &configv1alpha1.RotationConfiguration{}, namespace) {
		s = s.WithConfiguration(configuration.Name, configuration)
	}
	for _, record := range apifake.All(api, from, &configv1alpha1.RotationRecord{}, namespace) {
		s = s.WithRecord(record.Name, record)
	}
	for _, node := range apifake.All(api, from, &corev1.Node{}, "") {
		if s.Nodes == nil {
			s.Nodes = map[string]*inventory.Node{}
		}
		s.Nodes[node.Name] = inventory.ParseNode(node)
	}
	return s
}
