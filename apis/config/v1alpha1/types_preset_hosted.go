// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostedEtcdPreset makes the trust domains of an etcd that runs as a StatefulSet, for a kube-apiserver that runs as a
// Deployment of the same namespace. In NAME-peer the members of etcd verify each other: Secrets NAME-peer-signer and
// NAME-peer, bundle NAME-peer-ca-bundle. In NAME they and their clients do: Secrets NAME-signer, NAME-server, NAME-client
// of kube-apiserver, NAME-client-CLIENT, and NAME-quorum with which certrotation asks the members, bundle NAME-ca-bundle. etcd and kube-apiserver read a bundle only when they
// start, so they are proven by workloadRollout and restarted where a rotation waits for that. A member of etcd reads its
// leaves at each handshake, which is seen by a tlsProbe of its pod. The StatefulSet has to have the updateStrategy
// OnDelete: certrotation replaces its pods one at a time, while the other members have a quorum.
type HostedEtcdPreset struct {
	// name is the prefix of all objects. Defaults to "etcd".
	// +optional
	// +kubebuilder:validation:MaxLength=48
	Name string `json:"name,omitempty"`
	// statefulSet of the members of etcd. Defaults to name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	StatefulSet string `json:"statefulSet,omitempty"`
	// memberSelector chooses the pods of the members of etcd. Defaults to app: STATEFULSET.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty selector chooses every pod of the namespace: name labels of the pods that are meant"
	MemberSelector *metav1.LabelSelector `json:"memberSelector,omitempty"`
	// startGate of the pods of etcd; that of kube-apiserver and of clients is Required. With Assumed they need no gate: the
	// probe of each pod shows what it has loaded in any case. Defaults to Required.
	// +optional
	StartGate StartGate `json:"startGate,omitempty"`
	// clientPort of the pods of etcd. Defaults to 2379.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ClientPort int32 `json:"clientPort,omitempty"`
	// peerPort of the pods of etcd. Defaults to 2380.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	PeerPort int32 `json:"peerPort,omitempty"`
	// services by which the members of etcd are found, the headless one of the StatefulSet first. The leaves of the members
	// are for SERVICE.NAMESPACE.svc, for *.SERVICE.NAMESPACE.svc, for both with .cluster.local, and for localhost. Defaults
	// to the name of the StatefulSet.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	Services []string `json:"services,omitempty"`
	// dnsNames of the leaves of the members besides those of services.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=31
	// +kubebuilder:validation:items:MaxLength=253
	DNSNames []string `json:"dnsNames,omitempty"`
	// ipAddresses of the leaves of the members besides 127.0.0.1 and ::1.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=62
	// +kubebuilder:validation:items:MaxLength=45
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// deployment of kube-apiserver. Defaults to kube-apiserver.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Deployment string `json:"deployment,omitempty"`
	// apiServerSelector chooses the pods of kube-apiserver. Defaults to app: DEPLOYMENT.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty selector chooses every pod of the namespace: name labels of the pods that are meant"
	APIServerSelector *metav1.LabelSelector `json:"apiServerSelector,omitempty"`
	// clients of etcd besides kube-apiserver, such as a backup.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Clients []HostedEtcdClient `json:"clients,omitempty"`
	// restartedElsewhere leaves it to somebody else to put the hashes of the contents into the templates, such as an
	// operator that owns the workloads and would revert what others write. certrotation then restarts nothing.
	// +optional
	RestartedElsewhere bool `json:"restartedElsewhere,omitempty"`
	// key is the key algorithm of all certificates. Defaults to ECDSA-P256.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
}

// HostedEtcdClient is a client of etcd. With a workload its pods are proven by workloadRollout and restarted; without one
// each pod acknowledges what it has loaded; without a selector it is a sidecar in the pods of etcd, and restarted with them.
// +kubebuilder:validation:XValidation:rule="has(self.selector) || !has(self.workload) && !has(self.serviceAccountName)",message="workload and serviceAccountName are of a client with pods of its own: give their selector"
// +kubebuilder:validation:XValidation:rule="!has(self.workload) || !has(self.serviceAccountName)",message="serviceAccountName is for pods that acknowledge, and those of a workload do not"
type HostedEtcdClient struct {
	// name is the short name of the client.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=55
	Name string `json:"name"`
	// selector of its pods.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty selector chooses every pod of the namespace: name labels of the pods that are meant"
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// workload of its pods.
	// +optional
	Workload *Workload `json:"workload,omitempty"`
	// serviceAccountName is the account of its pods. With it that account alone may acknowledge, and each pod only for
	// itself. Without it RBAC decides, by the names of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}
