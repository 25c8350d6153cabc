// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodMembers selects pods in the namespace of the configuration as members of a relying party. A pod counts from
// the first start of a container until it is gone, also while it terminates or its node does not answer. While a
// rotation is in flight, a pod that no longer matches the selector counts until it is gone. A party without a
// running pod blocks nothing and proves nothing: the next pod starts with what is mounted then.
// +kubebuilder:validation:XValidation:rule="has(self.mounting) || has(self.selector) && (has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0 || has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0)",message="an empty selector chooses every pod of the namespace: name labels of the pods that are meant, or with mounting a leaf that they mount"
// +kubebuilder:validation:XValidation:rule="!(has(self.mounting) && has(self.selector) && (has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0 || has(self.selector.matchExpressions) && size(self.selector.matchExpressions) > 0))",message="the pods are chosen by selector, or by what they mount: only one of these"
// +kubebuilder:validation:XValidation:rule="!(has(self.containerPort) && has(self.portName))",message="containerPort or portName, not both"
// +kubebuilder:validation:XValidation:rule="!has(self.serverName) || has(self.containerPort) || has(self.portName)",message="serverName is for a probe, which needs containerPort or portName"
type PodMembers struct {
	// selector of the pods. It may select the pods of several workloads, but not all pods of the namespace.
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty"`
	// mounting selects the pods that mount a leaf which the party presents. It replaces the selector, and needs a
	// watch of all pods of the namespace.
	// +optional
	Mounting *MountedLeaf `json:"mounting,omitempty"`
	// containerPort at which each pod is probed, at its own address, for the kind tlsProbe.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ContainerPort int32 `json:"containerPort,omitempty"`
	// portName is the name of that port in the containers of the pod.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	PortName string `json:"portName,omitempty"`
	// serverName is sent to the pods, and the presented leaf must be valid for it. Defaults to the serverName of the
	// probe, and then to the address of the pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
}

// MountedLeaf selects the pods that mount a leaf.
type MountedLeaf struct {
	// secretName, as written in leaves, of a leaf that the party presents. A pod is selected if one of its volumes
	// shows that Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
}

// SecretOf returns the name of the Secret that a pod on a node mounts.
func (l *MountedLeaf) SecretOf(node string) string {
	return strings.ReplaceAll(l.SecretName, NodePlaceholder, node)
}
