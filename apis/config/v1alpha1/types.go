// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodePlaceholder is replaced by the node's name in the names of leaves and members that exist once per node.
const NodePlaceholder = "{node}"

// PodPlaceholder is replaced by the address of a pod in the endpoint of a quorum.
const PodPlaceholder = "{pod}"

// MemberPlaceholder is replaced by the member's name in the names of the accounts that report for it.
const MemberPlaceholder = "{member}"

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Namespaced,shortName=rotconf
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.status=="False")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.status=="False")].message`
// +kubebuilder:printcolumn:name="Credentials",type=string,priority=1,JSONPath=`.status.credentials.certificateAuthorities.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// RotationConfiguration declares the trust domains of its namespace. A user who can write it decides which keys
// are generated, which members count, and by which evidence.
type RotationConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec declares the trust domains, and the distribution of their certificates.
	Spec RotationConfigurationSpec `json:"spec"`
	// status reports how the controller read the spec, and the state of its rotations.
	// +optional
	Status RotationConfigurationStatus `json:"status,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// RotationConfigurationList is a list of RotationConfigurations.
type RotationConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []RotationConfiguration `json:"items"`
}

// RotationConfigurationSpec declares trust domains. A preset and explicit trust domains may be combined: the
// domains of the preset come first.
// +kubebuilder:validation:XValidation:rule="has(self.preset) || has(self.trustDomains) && size(self.trustDomains) > 0",message="give a trust domain or a preset"
// +kubebuilder:validation:XValidation:rule="!has(self.credentials) || has(self.trustDomains) && self.trustDomains.exists(domain, has(domain.editions))",message="credentials rotate by editions: give a trust domain with editions"
type RotationConfigurationSpec struct {
	// preset expands to the trust domains of a known system.
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// trustDomains are the CA lineages of this namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	TrustDomains []TrustDomain `json:"trustDomains,omitempty"`
	// nodeCIDRs are the ranges of node addresses. If a kubelet reports an address outside of them, it is not put into
	// a certificate and not probed. Without nodeCIDRs every reported address is accepted, except addresses that no
	// node can own, such as loopback addresses.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=43
	NodeCIDRs []string `json:"nodeCIDRs,omitempty"`
	// serviceCIDRs are the ranges of Service addresses. If a kubelet reports such an address for its node, it is
	// refused. Not needed if nodeCIDRs excludes these ranges.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=43
	ServiceCIDRs []string `json:"serviceCIDRs,omitempty"`
	// aggregate collects what the nodes need into one Secret and one ConfigMap.
	// +optional
	Aggregate *Aggregate `json:"aggregate,omitempty"`
	// rollout brings the aggregate to the nodes.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`
	// clusters are other clusters that receive copies.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=2000
	Clusters []RemoteCluster `json:"clusters,omitempty"`
	// copies are copies of bundles and leaves under other names, in other namespaces or in other clusters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=4096
	Copies []Copy `json:"copies,omitempty"`
	// credentials describes the whole whose editions rotate together.
	// +optional
	Credentials *Credentials `json:"credentials,omitempty"`
}

// Types of the conditions of a RotationConfiguration.
const (
	// ConditionAccepted is true if the configuration loads and claims no object that another configuration claims.
	ConditionAccepted = "Accepted"
	// ConditionReady is true if the configuration has no problem and none of its rotations is blocked.
	ConditionReady = "Ready"
)

// RotationConfigurationStatus reports how the controller read a configuration, and the state of its rotations.
type RotationConfigurationStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Accepted and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// trustDomains are the states of the trust domains, in the order of the spec.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	TrustDomains []TrustDomainStatus `json:"trustDomains,omitempty"`
	// credentials is the state of the rotations of what spec.credentials describes. The controller that writes the
	// editions writes it.
	// +optional
	Credentials *CredentialsStatus `json:"credentials,omitempty"`
}

// TrustDomainStatus is the state of one trust domain.
type TrustDomainStatus struct {
	// name of the trust domain.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// stage of its rotation.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Stage string `json:"stage,omitempty"`
	// message explains what the rotation waits for, or what is wrong with the trust domain. Empty if neither applies.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message,omitempty"`
}
