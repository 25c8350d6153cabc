// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// CopyKind is the kind of a copied object.
// +kubebuilder:validation:Enum=ConfigMap;Secret
type CopyKind string

// Kinds of copied objects.
const (
	CopyConfigMap CopyKind = "ConfigMap"
	CopySecret    CopyKind = "Secret"
)

// RemoteCluster is another cluster, which receives copies.
type RemoteCluster struct {
	// name is unique within the namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`
	Name string `json:"name"`
	// kubeconfigSecretName is the Secret with a kubeconfig under the key kubeconfig. It must consent by the annotation
	// certrotation.dev/configuration. Its current context names a server by https, and credentials within the kubeconfig:
	// a token, or a client certificate with its key. What it may do there is for its owner to decide, see
	// docs/operations.md.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	KubeconfigSecretName string `json:"kubeconfigSecretName"`
}

// Copy keeps a copy of a bundle or a leaf under another name, in another namespace, or in another cluster.
// +kubebuilder:validation:XValidation:rule="!has(self.cluster) || has(self.toNamespace)",message="a copy into another cluster needs a toNamespace"
type Copy struct {
	// kind of the object.
	Kind CopyKind `json:"kind"`
	// name of a bundle or leaf of this configuration.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// cluster is one of clusters. Without it, the copy is in the cluster of the configuration. A leaf is copied to a
	// cluster after the copies of its bundle there.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`
	// toNamespace defaults to the namespace of the configuration. Any other namespace, and each in another
	// cluster, must accept the copy with its annotation certrotation.dev/copies-from, which lists FROM/KIND/NAME of each
	// copy that it accepts.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ToNamespace string `json:"toNamespace,omitempty"`
	// toName defaults to name.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ToName string `json:"toName,omitempty"`
}
