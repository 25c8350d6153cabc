// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PodKey is the key of the ConfigMap with the manifest of a static pod.
const PodKey = "pod.yaml"

// CompanionKey returns the key of the same ConfigMap with the manifest of a companion.
func CompanionKey(companion string) string { return companion + ".yaml" }

// Rollout brings ConfigMaps and Secrets to the nodes.
// +kubebuilder:validation:XValidation:rule="has(self.staticPod)",message="staticPod is the only kind of rollout"
type Rollout struct {
	// staticPod brings them to the static pods of nodes.
	// +optional
	StaticPod *StaticPodRollout `json:"staticPod,omitempty"`
}

// StaticPodRollout brings numbered revisions of ConfigMaps and Secrets to the nodes, one node at a time. A
// revision that differs from the running one only in reloaded Secrets is swapped without a restart of the pod. Any
// other revision restarts the pod and its companions.
type StaticPodRollout struct {
	// name of the static pod, for example etcd. Its pods are NAME-NODE, its directories NAME-pod-REVISION.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// nodeSelector selects the nodes that run the static pod. It must not be empty: that would select every node of
	// the cluster.
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty selector would take every node of the cluster"
	NodeSelector metav1.LabelSelector `json:"nodeSelector"`
	// podConfigMapName is the ConfigMap with the manifest under the key pod.yaml, in which REVISION, NODE_NAME and
	// NODE_IP are replaced. Defaults to NAME-pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PodConfigMapName string `json:"podConfigMapName,omitempty"`
	// companions are the names of further static pods of each node that a revision installs, for example
	// kube-apiserver. The manifest of each is in podConfigMapName under the key NAME.yaml, and mounts the directory
	// of the revision too. A node is done when all of its static pods are. The class must name them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Companions []string `json:"companions,omitempty"`
	// configMapNames are the ConfigMaps that are part of a revision. Defaults to the ConfigMap of the aggregate.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	ConfigMapNames []string `json:"configMapNames,omitempty"`
	// secretNames are the Secrets that are part of a revision. Defaults to the Secret of the aggregate.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	SecretNames []string `json:"secretNames,omitempty"`
	// reloadedSecretNames are the ones of secretNames that the processes reload by themselves. Defaults to the Secret
	// of the aggregate.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	ReloadedSecretNames []string `json:"reloadedSecretNames,omitempty"`
	// className is the StaticPodClass in which the owner of the nodes permits an image, directories and the content
	// of the pod. The class must name this namespace and the static pod.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className"`
	// coalesce is how long a change waits for further changes. They then make one revision. Defaults to 3s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('10m')",message="must be a duration between 1s and 10m"
	Coalesce *metav1.Duration `json:"coalesce,omitempty"`
	// installerTimeout bounds one attempt of an installer pod. Defaults to 2m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('1h')",message="must be a duration between 10s and 1h"
	InstallerTimeout *metav1.Duration `json:"installerTimeout,omitempty"`
	// staticPodTimeout is how long a static pod may take to become ready with a new revision before it counts as
	// stuck. Nothing is rolled back when it passes. Defaults to 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be a duration between 10s and 24h"
	StaticPodTimeout *metav1.Duration `json:"staticPodTimeout,omitempty"`
	// failedRevisionLimit is how many failed revisions are kept for each node. 0 means 5, -1 means all.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=1000000
	FailedRevisionLimit int32 `json:"failedRevisionLimit,omitempty"`
	// succeededRevisionLimit is how many succeeded revisions are kept for each node. 0 means 5, -1 means all.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +kubebuilder:validation:Maximum=1000000
	SucceededRevisionLimit int32 `json:"succeededRevisionLimit,omitempty"`
	// quorum defines how the etcd cluster of the static pods is checked. It is checked before a revision that
	// restarts its members is created, before each restart, and afterwards.
	// +optional
	Quorum *Quorum `json:"quorum,omitempty"`
}

// StaticPods returns the names of all static pods of a node, the name of the rollout first.
func (r *StaticPodRollout) StaticPods() []string {
	return append([]string{r.Name}, r.Companions...)
}

// QuorumStrategy defines how much of a cluster must be healthy before a member is restarted.
// +kubebuilder:validation:Enum=Automatic;HighAvailability;TwoNode;SingleNode
type QuorumStrategy string

// Quorum strategies.
const (
	// QuorumAutomatic chooses by the number of members.
	QuorumAutomatic QuorumStrategy = "Automatic"
	// QuorumHighAvailability requires that a quorum survives without the member.
	QuorumHighAvailability QuorumStrategy = "HighAvailability"
	// QuorumTwoNode requires both members. While one restarts, nothing can be written.
	QuorumTwoNode QuorumStrategy = "TwoNode"
	// QuorumSingleNode accepts that nothing can be read or written while the only member restarts.
	QuorumSingleNode QuorumStrategy = "SingleNode"
)

// Quorum defines how the members of an etcd cluster are asked for a linearizable read.
type Quorum struct {
	// endpoint of each member. For static pods it is https://{node}:2379, with the address of the node. For a
	// StatefulSet it is https://{pod}:2379, with the address of the pod.
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:Pattern=`^https://([^/]*[{]node[}][^/]*|[{]pod[}]):[0-9]+$`
	Endpoint string `json:"endpoint"`
	// serverName that the leaves of the members must be valid for. Defaults to the address.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// clientLeaf is the secretName of the leaf to connect with.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClientLeaf string `json:"clientLeaf"`
	// bundleConfigMapName is the bundle to verify the members with.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BundleConfigMapName string `json:"bundleConfigMapName"`
	// strategy defaults to Automatic.
	// +optional
	Strategy QuorumStrategy `json:"strategy,omitempty"`
	// timeout of one read. Defaults to 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1m')",message="must be a duration between 100ms and 1m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// Aggregate collects leaves and bundles of all trust domains of the namespace into one Secret and one ConfigMap.
// Each is changed in one write.
type Aggregate struct {
	// secretName of the Opaque Secret with the keys SECRET.crt and SECRET.key of every selected leaf.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// leaves to collect with their keys, by secretName as written in the leaves of the domains.
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
