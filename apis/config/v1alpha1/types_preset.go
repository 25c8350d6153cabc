// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PresetName names a set of trust domains that certrotation knows.
// +kubebuilder:validation:Enum=mtls-service;openshift-etcd;webhook-server;hosted-etcd;kubeadm-etcd
type PresetName string

// Known presets.
const (
	PresetMTLSService   PresetName = "mtls-service"
	PresetOpenShiftEtcd PresetName = "openshift-etcd"
	PresetWebhookServer PresetName = "webhook-server"
	PresetHostedEtcd    PresetName = "hosted-etcd"
	PresetKubeadmEtcd   PresetName = "kubeadm-etcd"
)

// Preset selects a known system and its parameters.
// +kubebuilder:validation:XValidation:rule="has(self.mtlsService) == (self.name == 'mtls-service')",message="mtlsService are the parameters of the preset mtls-service, which needs them"
// +kubebuilder:validation:XValidation:rule="!has(self.openshiftEtcd) || self.name == 'openshift-etcd'",message="openshiftEtcd are the parameters of the preset openshift-etcd"
// +kubebuilder:validation:XValidation:rule="has(self.webhookServer) == (self.name == 'webhook-server')",message="webhookServer are the parameters of the preset webhook-server, which needs them"
// +kubebuilder:validation:XValidation:rule="!has(self.hostedEtcd) || self.name == 'hosted-etcd'",message="hostedEtcd are the parameters of the preset hosted-etcd"
// +kubebuilder:validation:XValidation:rule="!has(self.kubeadmEtcd) || self.name == 'kubeadm-etcd'",message="kubeadmEtcd are the parameters of the preset kubeadm-etcd"
type Preset struct {
	// name of the preset.
	Name PresetName `json:"name"`
	// mtlsService are the parameters of the preset mtls-service.
	// +optional
	MTLSService *MTLSServicePreset `json:"mtlsService,omitempty"`
	// openshiftEtcd are the parameters of the preset openshift-etcd.
	// +optional
	OpenShiftEtcd *OpenShiftEtcdPreset `json:"openshiftEtcd,omitempty"`
	// webhookServer are the parameters of the preset webhook-server.
	// +optional
	WebhookServer *WebhookServerPreset `json:"webhookServer,omitempty"`
	// hostedEtcd are the parameters of the preset hosted-etcd.
	// +optional
	HostedEtcd *HostedEtcdPreset `json:"hostedEtcd,omitempty"`
	// kubeadmEtcd are the parameters of the preset kubeadm-etcd.
	// +optional
	KubeadmEtcd *KubeadmEtcdPreset `json:"kubeadmEtcd,omitempty"`
}

// MTLSServicePreset makes one trust domain NAME with the Secrets NAME-signer, NAME-server and NAME-client-CLIENT
// and the bundle NAME-ca-bundle. The server is proven by tlsProbe, the clients by acknowledgement. The server is
// given by addresses or by its pods. Each client is a single process or pods.
// +kubebuilder:validation:XValidation:rule="has(self.serverAddresses) != has(self.serverPods)",message="the server is probed at serverAddresses, or at each of serverPods: exactly one of these"
// +kubebuilder:validation:XValidation:rule="has(self.clients) || has(self.clientPods)",message="the server is probed with the leaf of a client: give clients, clientPods, or both"
type MTLSServicePreset struct {
	// name is the prefix of all objects and the name of the trust domain. Defaults to "service".
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// clients are the short names of the clients that are a single process each. At least one of clients or
	// clientPods, and at most 120 of both.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=120
	// +kubebuilder:validation:items:MaxLength=63
	Clients []string `json:"clients,omitempty"`
	// clientPods are the clients that are pods. Each pod acknowledges for itself.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=120
	ClientPods []MTLSClientPods `json:"clientPods,omitempty"`
	// dnsNames of the server's leaf. Defaults to the Service names NAME.NAMESPACE.svc and localhost.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	DNSNames []string `json:"dnsNames,omitempty"`
	// ipAddresses of the server's leaf.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=45
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// serverAddresses are the host:port pairs of the members of the server. Each is probed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=300
	ServerAddresses []string `json:"serverAddresses,omitempty"`
	// serverPods are the pods of the server. Each is probed at its own address.
	// +optional
	ServerPods *MTLSServerPods `json:"serverPods,omitempty"`
	// serverName is the name to verify the leaf of the server with. Defaults to the first of dnsNames that is not a
	// wildcard.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// key is the key algorithm of all certificates. Defaults to ECDSA-P256.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
}

// WebhookServerPreset makes one trust domain NAME with the Secrets NAME-signer and NAME-server and the bundle
// NAME-ca-bundle. It is for a server that kube-apiserver calls: an admission webhook, a conversion webhook, or an
// aggregated API. The pods of the server, the party server, are proven by tlsProbe. The party kube-apiserver is
// proven by caBundle. The objects of injectInto need the annotation certrotation.dev/inject-ca-from:
// NAMESPACE/NAME-ca-bundle.
type WebhookServerPreset struct {
	// name is the prefix of all objects and the name of the trust domain. Defaults to "webhook".
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// service in front of the pods, through which kube-apiserver calls them. The leaf is valid for
	// SERVICE.NAMESPACE.svc and SERVICE.NAMESPACE.svc.cluster.local. Defaults to name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Service string `json:"service,omitempty"`
	// dnsNames of the leaf besides the names of the Service, for example for a webhook with a URL.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=62
	// +kubebuilder:validation:items:MaxLength=253
	DNSNames []string `json:"dnsNames,omitempty"`
	// injectInto are the objects whose caBundle kube-apiserver verifies the server with. At least one.
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=256
	InjectInto []InjectionTarget `json:"injectInto"`
	// pods that serve. containerPort defaults to 9443, and serverName to the first name of the Service.
	Pods PodMembers `json:"pods"`
	// minimumDelay is the time after which every kube-apiserver counts as verifying with an anchor that a caBundle
	// holds. Defaults to 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be a duration between 1s and 8760h"
	MinimumDelay *metav1.Duration `json:"minimumDelay,omitempty"`
	// key is the key algorithm of all certificates. Defaults to ECDSA-P256.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
}

// MTLSServerPods selects the pods of the server of the preset mtls-service.
// +kubebuilder:validation:XValidation:rule="has(self.containerPort) != has(self.portName)",message="containerPort or portName say where each pod is probed: exactly one of these"
type MTLSServerPods struct {
	// selector of the pods.
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty selector chooses every pod of the namespace: name labels of the pods that are meant"
	Selector metav1.LabelSelector `json:"selector"`
	// containerPort at which each pod is probed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ContainerPort int32 `json:"containerPort,omitempty"`
	// portName is the name of that port in the containers of the pod.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	PortName string `json:"portName,omitempty"`
}

// MTLSClientPods are the pods of one client of the preset mtls-service. They share the Secret NAME-client-CLIENT.
type MTLSClientPods struct {
	// name is the short name of the client.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// selector of the pods.
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty selector chooses every pod of the namespace: name labels of the pods that are meant"
	Selector metav1.LabelSelector `json:"selector"`
	// serviceAccountName is the account of the pods. With it, only that account may acknowledge, and each pod only
	// for itself. Without it, RBAC decides by the names of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// OpenShiftEtcdPreset makes the objects of OpenShift's cluster-etcd-operator: two trust domains, three leaves for each
// control plane node, two client leaves and the two aggregates.
type OpenShiftEtcdPreset struct {
	// nodeSelector selects the control plane nodes. Defaults to node-role.kubernetes.io/master.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// key is the key algorithm of all certificates. Defaults to RSA-2048.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
	// clients of etcd besides its members, such as each kube-apiserver. Each acknowledges what it has loaded.
	// Defaults to a single one with the name clients.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=253
	Clients []string `json:"clients,omitempty"`
	// metricsClients read the metrics of etcd. Each acknowledges what it has loaded. Defaults to a single one with
	// the name prometheus.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=253
	MetricsClients []string `json:"metricsClients,omitempty"`
	// signerValidity defaults to 5 years.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be a duration between 1m and 876000h"
	SignerValidity *metav1.Duration `json:"signerValidity,omitempty"`
	// leafValidity defaults to 3 years.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('876000h')",message="must be a duration between 1m and 876000h"
	LeafValidity *metav1.Duration `json:"leafValidity,omitempty"`
	// rollout makes certrotation roll out the members of etcd as static pods. Without it, each member acknowledges
	// what it has loaded.
	// +optional
	Rollout *OpenShiftEtcdRollout `json:"rollout,omitempty"`
	// copies makes certrotation keep the copies of bundles and client leaves that other components of OpenShift read.
	// They are in the namespaces openshift-config and openshift-etcd-operator, which must exist.
	// +optional
	Copies bool `json:"copies,omitempty"`
}

// OpenShiftEtcdRollout are the parameters of the rollout that the preset openshift-etcd makes.
type OpenShiftEtcdRollout struct {
	// className is the StaticPodClass that permits the static pod etcd in this namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className"`
	// strategy of the quorum. Defaults to Automatic.
	// +optional
	Strategy QuorumStrategy `json:"strategy,omitempty"`
}
