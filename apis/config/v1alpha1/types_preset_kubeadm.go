// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeadmEtcdPreset makes the trust domain of the etcd of a kubeadm control plane, and the rollout of its static
// pods etcd and kube-apiserver. Both restart together on each node. The names are the ones that kubeadm gives to
// the same certificates: signer etcd-ca, leaves etcd-server-NODE, etcd-peer-NODE, apiserver-etcd-client-NODE and
// etcd-healthcheck-client. The configuration is in kube-system, the namespace of these static pods.
type KubeadmEtcdPreset struct {
	// nodeSelector selects the control plane nodes. Defaults to node-role.kubernetes.io/control-plane.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// className is the StaticPodClass that permits the static pods etcd and kube-apiserver. Defaults to kubeadm-etcd.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`
	// strategy of the quorum. Defaults to Automatic.
	// +optional
	Strategy QuorumStrategy `json:"strategy,omitempty"`
	// clients are the short names of the clients of etcd besides kube-apiserver, such as Prometheus. Each has the
	// leaf etcd-client-NAME, and acknowledges what it has loaded.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	Clients []string `json:"clients,omitempty"`
	// key is the key algorithm of all new certificates. Defaults to RSA-2048, which kubeadm uses.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
	// signerValidity defaults to 10 years, as in kubeadm.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be a duration between 1m and 876000h"
	SignerValidity *metav1.Duration `json:"signerValidity,omitempty"`
	// leafValidity defaults to 1 year, as in kubeadm.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be a duration between 1m and 876000h"
	LeafValidity *metav1.Duration `json:"leafValidity,omitempty"`
}
