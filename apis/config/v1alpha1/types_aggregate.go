// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Aggregate collects the leaves and bundles of all trust domains of the namespace, each changed in one write.
type Aggregate struct {
	// secretName of the Opaque Secret with the keys SECRET.crt and SECRET.key of every selected leaf.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// leaves are the secretNames (as written in the domains' leaves) whose pairs are collected.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MaxLength=253
	Leaves []string `json:"leaves"`
	// configMapName of the ConfigMap with the bundles.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName"`
	// bundles are the collected bundles.
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	Bundles []AggregatedBundle `json:"bundles"`
}

// AggregatedBundle is one bundle inside the aggregate ConfigMap.
type AggregatedBundle struct {
	// key in the aggregate ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
	// configMapName of the bundle that is copied.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName"`
}
