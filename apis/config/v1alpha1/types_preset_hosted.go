// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostedEtcdPreset makes the trust domains of an etcd that runs as a StatefulSet, for a kube-apiserver that runs
// as a Deployment of the same namespace. In NAME-peer the members of etcd verify each other. It has the Secrets
// NAME-peer-signer and NAME-peer and the bundle NAME-peer-ca-bundle. In NAME the members and their clients verify
// each other. It has the Secrets NAME-signer, NAME-server, NAME-client of kube-apiserver, NAME-client-CLIENT, and
// NAME-quorum with which certrotation asks the members. Its bundle is NAME-ca-bundle. etcd and kube-apiserver read
// a bundle only when they start. They are proven by workloadRollout, and restarted when a rotation waits for it. A
// member of etcd reads its leaves at each handshake, which a tlsProbe of its pod observes. The StatefulSet needs
// the updateStrategy OnDelete: certrotation replaces its pods one at a time, while the other members have a
// quorum.
type HostedEtcdPreset struct {
	// name is the prefix of all objects. Defaults to "etcd".
	// +optional
	// +kubebuilder:validation:MaxLength=48
	Name string `json:"name,omitempty"`
	// statefulSet of the members of etcd. Defaults to name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	StatefulSet string `json:"statefulSet,omitempty"`
	// memberSelector selects the pods of the members of etcd. Defaults to app: STATEFULSET.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty selector chooses every pod of the namespace: name labels of the pods that are meant"
	MemberSelector *metav1.LabelSelector `json:"memberSelector,omitempty"`
	// startGate of the pods of etcd. With Assumed they need no gate: the probe of each pod shows what it has loaded.
	// For kube-apiserver and clients it is always Required. Defaults to Required.
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
	// services of the members of etcd, the headless Service of the StatefulSet first. The leaves of the members are
	// valid for SERVICE.NAMESPACE.svc, *.SERVICE.NAMESPACE.svc, both with .cluster.local, and localhost. Defaults to
	// the name of the StatefulSet.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=63
	Services []string `json:"services,omitempty"`
	// dnsNames of the leaves of the members besides the names of services.
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
	// apiServerSelector selects the pods of kube-apiserver. Defaults to app: DEPLOYMENT.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty selector chooses every pod of the namespace: name labels of the pods that are meant"
	APIServerSelector *metav1.LabelSelector `json:"apiServerSelector,omitempty"`
	// clients of etcd besides kube-apiserver, such as a backup.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Clients []HostedEtcdClient `json:"clients,omitempty"`
	// restartedElsewhere is true if something else puts the hashes of the contents into the templates, such as an
	// operator that owns the workloads. Such an operator would revert writes of certrotation, which then restarts
	// nothing.
	// +optional
	RestartedElsewhere bool `json:"restartedElsewhere,omitempty"`
	// key is the key algorithm of all certificates. Defaults to ECDSA-P256.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
}

// HostedEtcdClient is a client of etcd. With a workload, its pods are proven by workloadRollout and restarted.
// Without a workload, each pod acknowledges what it has loaded. Without a selector, it is a sidecar in the pods of
// etcd, and restarts with them.
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
	// serviceAccountName is the account of its pods. With it, only that account may acknowledge, and each pod only
	// for itself. Without it, RBAC decides by the names of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}
