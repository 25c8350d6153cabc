// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +genclient:nonNamespaced
// +genclient:noStatus
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// StaticPodClass is what the owner of the nodes permits a rollout to do on them. A RotationConfiguration only refers to
// a class by its name, so that the right to write objects in a namespace does not make anybody root on the control
// plane.
type StaticPodClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is permitted.
	Spec StaticPodClassSpec `json:"spec"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true

// StaticPodClassList is a list of StaticPodClasses.
type StaticPodClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []StaticPodClass `json:"items"`
}

// StaticPodClassSpec says who may use the class, on which nodes, and what runs there.
type StaticPodClassSpec struct {
	// namespaces are those whose configurations may use the class.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces"`
	// podName is the name of the static pod, for example etcd, that a rollout of the class may bring.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PodName string `json:"podName"`
	// image of certrotation, by digest, for the installer and pruner pods.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^@]+@sha256:[0-9a-f]{64}$`
	Image string `json:"image"`
	// resourceDirectory on the nodes. Defaults to /etc/kubernetes/static-pod-resources.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ResourceDirectory string `json:"resourceDirectory,omitempty"`
	// manifestDirectory is where kubelet finds static pods. Defaults to /etc/kubernetes/manifests.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ManifestDirectory string `json:"manifestDirectory,omitempty"`
	// manifestFile is the name of the static pod's manifest in manifestDirectory, for example etcd.yaml: a file of that name
	// is replaced, whoever wrote it. Defaults to PODNAME-pod.yaml.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ManifestFile string `json:"manifestFile,omitempty"`
	// pod describes what the static pod may contain.
	Pod PermittedPod `json:"pod"`
	// companions are further static pods that a rollout of the class may bring together with it.
	// +optional
	// +listType=map
	// +listMapKey=podName
	// +kubebuilder:validation:MaxItems=8
	Companions []PermittedCompanion `json:"companions,omitempty"`
}

// PermittedCompanion is a further static pod of the nodes of a class.
type PermittedCompanion struct {
	// podName is the name of the static pod, for example kube-apiserver.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	PodName string `json:"podName"`
	// manifestFile is the name of its manifest in manifestDirectory. Defaults to PODNAME-pod.yaml.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ManifestFile string `json:"manifestFile,omitempty"`
	// pod describes what it may contain.
	Pod PermittedPod `json:"pod"`
}

// PermittedPod describes what a static pod may contain. Everything that it does not name is refused.
type PermittedPod struct {
	// images are those that containers may run, as the manifest writes them.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	Images []string `json:"images"`
	// hostPaths are the paths that volumes may mount, in addition to the directory of the revision, which is mounted
	// read-only. They have to match exactly: a path below one of them could be a symbolic link that the pod has placed
	// there, and lead anywhere.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	HostPaths []string `json:"hostPaths,omitempty"`
	// hostNetwork permits the network of the node.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// privileged permits privileged containers, added capabilities, and the process table and IPC of the node.
	// +optional
	Privileged bool `json:"privileged,omitempty"`
	// priorityClassNames are the priority classes that the pod may have. Naming one of the system permits its priority.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	PriorityClassNames []string `json:"priorityClassNames,omitempty"`
}
