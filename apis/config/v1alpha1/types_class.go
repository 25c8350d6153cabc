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

// StaticPodClass is what the owner of the nodes permits a rollout to do on them. A RotationConfiguration only
// names a class: write access to a namespace must not give root on the control plane.
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

// StaticPodClassSpec names the namespaces that may use the class, and what may run on the nodes.
type StaticPodClassSpec struct {
	// namespaces whose configurations may use the class.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces"`
	// podName is the static pod that a rollout of the class may install, for example etcd.
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
	// manifestDirectory is where the kubelet reads static pods. Defaults to /etc/kubernetes/manifests.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	ManifestDirectory string `json:"manifestDirectory,omitempty"`
	// manifestFile is the file of the static pod's manifest in manifestDirectory, for example etcd.yaml. An existing
	// file of that name is replaced, even if certrotation did not write it. Defaults to PODNAME-pod.yaml.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ManifestFile string `json:"manifestFile,omitempty"`
	// pod describes what the static pod may contain.
	Pod PermittedPod `json:"pod"`
	// companions are further static pods that a rollout of the class may install together with this one.
	// +optional
	// +listType=map
	// +listMapKey=podName
	// +kubebuilder:validation:MaxItems=8
	Companions []PermittedCompanion `json:"companions,omitempty"`
}

// PermittedCompanion is a further static pod that a class permits.
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

// PermittedPod describes what a static pod may contain. Everything else is refused.
type PermittedPod struct {
	// images that containers may run, as written in the manifest.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	Images []string `json:"images"`
	// hostPaths are the paths that volumes may mount, besides the directory of the revision, which is mounted
	// read-only. They must match exactly: a path below one of them could be a symbolic link that the pod made.
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
	// priorityClassNames are the priority classes that the pod may have. Name a system class to permit its priority.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	PriorityClassNames []string `json:"priorityClassNames,omitempty"`
}
