// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ConfigLabel marks the ConfigMaps that hold a RotationConfiguration. Its value is ignored.
	ConfigLabel = "certrotation.dev/config"
	// ConfigKey is the key of the ConfigMap under which the RotationConfiguration is stored, as YAML or JSON.
	ConfigKey = "config.yaml"
	// NodePlaceholder is replaced by the node's name in the names of leaves and members that exist once per node.
	NodePlaceholder = "{node}"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RotationConfiguration declares the trust domains of one namespace.
// A preset and explicit trust domains may be combined: the preset's domains come first.
type RotationConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// preset expands to the trust domains of a known system.
	// +optional
	Preset *Preset `json:"preset,omitempty"`
	// trustDomains are the CA lineages of this namespace.
	// +optional
	// +listType=map
	// +listMapKey=name
	TrustDomains []TrustDomain `json:"trustDomains,omitempty"`
	// aggregate collects what the nodes need into one Secret and one ConfigMap.
	// +optional
	Aggregate *Aggregate `json:"aggregate,omitempty"`
	// rollout brings the aggregate to the nodes.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`
	// copies of bundles and leaves for readers elsewhere.
	// +optional
	// +listType=atomic
	Copies []Copy `json:"copies,omitempty"`
}

// PresetName names a set of trust domains that certrotation knows.
type PresetName string

// Known presets.
const (
	PresetMTLSService   PresetName = "mtls-service"
	PresetOpenShiftEtcd PresetName = "openshift-etcd"
)

// Preset chooses a known system and its parameters.
type Preset struct {
	// name of the preset.
	Name PresetName `json:"name"`
	// mtlsService are the parameters of the preset mtls-service.
	// +optional
	MTLSService *MTLSServicePreset `json:"mtlsService,omitempty"`
	// openshiftEtcd are the parameters of the preset openshift-etcd.
	// +optional
	OpenShiftEtcd *OpenShiftEtcdPreset `json:"openshiftEtcd,omitempty"`
}

// MTLSServicePreset makes one trust domain NAME with the Secrets NAME-signer, NAME-server and NAME-client-CLIENT
// and the bundle NAME-ca-bundle. The server is proven by tlsProbe, the clients by acknowledgement.
type MTLSServicePreset struct {
	// name is the prefix of all objects and the name of the trust domain. Defaults to "service".
	// +optional
	Name string `json:"name,omitempty"`
	// clients are the short names of the clients. At least one.
	// +listType=set
	Clients []string `json:"clients"`
	// dnsNames of the server's leaf. Defaults to the Service names NAME.NAMESPACE.svc and localhost.
	// +optional
	// +listType=set
	DNSNames []string `json:"dnsNames,omitempty"`
	// ipAddresses of the server's leaf.
	// +optional
	// +listType=set
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// serverAddresses are the host:port pairs at which every member of the server is probed.
	// +listType=set
	ServerAddresses []string `json:"serverAddresses"`
	// serverName is the name to verify the server's leaf with. Defaults to the first of dnsNames.
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// key is the key algorithm of all certificates. Defaults to ECDSA-P256.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
}

// OpenShiftEtcdPreset makes the objects of OpenShift's cluster-etcd-operator: two trust domains, three leaves for each
// control plane node, two client leaves and the two aggregates.
type OpenShiftEtcdPreset struct {
	// nodeSelector chooses the control plane nodes. Defaults to node-role.kubernetes.io/master.
	// +optional
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// key is the key algorithm of all certificates. Defaults to RSA-2048.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
	// clients of etcd apart from its members, such as each kube-apiserver. Each acknowledges what it has loaded. Defaults
	// to a single one that is named clients.
	// +optional
	// +listType=set
	Clients []string `json:"clients,omitempty"`
	// metricsClients read the metrics of etcd. Each acknowledges what it has loaded. Defaults to a single one that is
	// named prometheus.
	// +optional
	// +listType=set
	MetricsClients []string `json:"metricsClients,omitempty"`
	// signerValidity and leafValidity default to 5 and 3 years.
	// +optional
	SignerValidity *metav1.Duration `json:"signerValidity,omitempty"`
	// +optional
	LeafValidity *metav1.Duration `json:"leafValidity,omitempty"`
	// rollout has the members of etcd run as static pods that certrotation rolls out. Without it each member acknowledges
	// what it has loaded.
	// +optional
	Rollout *OpenShiftEtcdRollout `json:"rollout,omitempty"`
	// copies has the copies made by which OpenShift's other components find the bundles and the client leaves, in the
	// namespaces openshift-config and openshift-etcd-operator, which have to exist.
	// +optional
	Copies bool `json:"copies,omitempty"`
}

// OpenShiftEtcdRollout are the parameters of the rollout that the preset openshift-etcd makes.
type OpenShiftEtcdRollout struct {
	// image of certrotation, for the installer and pruner pods.
	Image string `json:"image"`
	// strategy of the quorum. Defaults to Automatic.
	// +optional
	Strategy QuorumStrategy `json:"strategy,omitempty"`
}

// TrustDomain is one CA lineage: a signer, its bundle, the leaves that it signs and the parties that verify them.
type TrustDomain struct {
	// name is unique within the namespace.
	Name string `json:"name"`
	// signer is the CA key pair.
	Signer Signer `json:"signer"`
	// bundle is the ConfigMap of trust anchors.
	Bundle Bundle `json:"bundle"`
	// leaves are the end-entity certificates.
	// +optional
	// +listType=map
	// +listMapKey=secretName
	Leaves []Leaf `json:"leaves,omitempty"`
	// relyingParties are the processes that verify the leaves, and that present them.
	// +optional
	// +listType=map
	// +listMapKey=name
	RelyingParties []RelyingParty `json:"relyingParties,omitempty"`
	// reissuePerMinute bounds how many leaves are reissued in a minute because their signer or their policy changed. What
	// is missing, expired or asked for is not held back. Defaults to 600.
	// +optional
	ReissuePerMinute int32 `json:"reissuePerMinute,omitempty"`
	// unlistedLeaves says that holders also make leaves from the active CA in their own memory.
	// +optional
	UnlistedLeaves *UnlistedLeaves `json:"unlistedLeaves,omitempty"`
	// stageDeadline is how long a stage of a rotation may last before it counts as overdue. Nothing but the
	// condition Degraded depends on it. Defaults to 1h.
	// +optional
	StageDeadline *metav1.Duration `json:"stageDeadline,omitempty"`
}

// UnlistedLeaves are leaves that no Secret holds, such as those of certrotation's own servers.
type UnlistedLeaves struct {
	// drain is how long after a new CA became active holders may still present a leaf of the former one. It is an
	// operator's assumption, not an observation.
	Drain metav1.Duration `json:"drain"`
}

// KeyAlgorithm names a key type and size.
type KeyAlgorithm string

// Key algorithms that can be issued.
const (
	RSA2048   KeyAlgorithm = "RSA-2048"
	RSA3072   KeyAlgorithm = "RSA-3072"
	RSA4096   KeyAlgorithm = "RSA-4096"
	ECDSAP256 KeyAlgorithm = "ECDSA-P256"
	ECDSAP384 KeyAlgorithm = "ECDSA-P384"
	ECDSAP521 KeyAlgorithm = "ECDSA-P521"
	Ed25519   KeyAlgorithm = "Ed25519"
)

// IssuancePolicy says how certificates are made and when they are renewed.
type IssuancePolicy struct {
	// key is the key algorithm. Defaults to ECDSA-P256.
	// +optional
	Key KeyAlgorithm `json:"key,omitempty"`
	// validity of a new certificate. Defaults to 43800h (5 years) for signers and 8760h (1 year) for leaves, or to the
	// validity of a signer that is shorter. At least 1s. A leaf does not outlive its signer: when it is made, it is
	// clamped to the remaining life of its signer.
	// +optional
	Validity *metav1.Duration `json:"validity,omitempty"`
	// renewAtPercent of its validity a certificate is renewed. Between 1 and 99, defaults to 80.
	// +optional
	RenewAtPercent int32 `json:"renewAtPercent,omitempty"`
	// renewBefore the end of its validity a certificate is renewed, if that is earlier than renewAtPercent. Shorter than
	// validity.
	// +optional
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
	// jitterPercent spreads due dates: each certificate is renewed earlier by its own share, always the same, of this
	// part of its validity. Between 0 and 20 and less than renewAtPercent; defaults to 5 for leaves and 0 for signers.
	// +optional
	JitterPercent *int32 `json:"jitterPercent,omitempty"`
	// backdate is how far the start of a certificate lies in the past, for verifiers whose clocks are behind.
	// Defaults to 5m.
	// +optional
	Backdate *metav1.Duration `json:"backdate,omitempty"`
}

// Signer is the CA key pair of a trust domain.
type Signer struct {
	// secretName of the kubernetes.io/tls Secret with the slots active, next and previous.
	SecretName string `json:"secretName"`
	// policy for the CA certificates.
	// +optional
	Policy IssuancePolicy `json:"policy,omitempty"`
}

// Bundle is the ConfigMap of trust anchors, under the key ca-bundle.crt.
type Bundle struct {
	// configMapName of the bundle.
	ConfigMapName string `json:"configMapName"`
}

// Usage is an extended key usage of a leaf.
type Usage string

// Usages of leaves.
const (
	ServerAuth Usage = "ServerAuth"
	ClientAuth Usage = "ClientAuth"
)

// Leaf is an end-entity certificate, or one for each node.
type Leaf struct {
	// secretName of the kubernetes.io/tls Secret. With forEachNode it contains {node} exactly once.
	SecretName string `json:"secretName"`
	// forEachNode makes one leaf for each chosen node.
	// +optional
	ForEachNode *metav1.LabelSelector `json:"forEachNode,omitempty"`
	// commonName of the subject. Defaults to the smallest of the names and addresses.
	// +optional
	CommonName string `json:"commonName,omitempty"`
	// organizations of the subject.
	// +optional
	// +listType=atomic
	Organizations []string `json:"organizations,omitempty"`
	// dnsNames of the leaf.
	// +optional
	// +listType=set
	DNSNames []string `json:"dnsNames,omitempty"`
	// ipAddresses of the leaf.
	// +optional
	// +listType=set
	IPAddresses []string `json:"ipAddresses,omitempty"`
	// nodeAddresses adds every InternalIP of the node. Only with forEachNode.
	// +optional
	NodeAddresses bool `json:"nodeAddresses,omitempty"`
	// usages are the extended key usages. At least one.
	// +listType=set
	Usages []Usage `json:"usages"`
	// policy for this leaf.
	// +optional
	Policy IssuancePolicy `json:"policy,omitempty"`
}

// EvidenceKind is the kind of observation that proves that a relying party has loaded an anchor.
type EvidenceKind string

// Evidence kinds.
const (
	EvidenceTLSProbe        EvidenceKind = "tlsProbe"
	EvidenceAcknowledgement EvidenceKind = "acknowledgement"
	EvidenceGracePeriod     EvidenceKind = "gracePeriod"
	EvidenceRenewed         EvidenceKind = "renewed"
	// EvidenceStaticPodRevision is for the members of the configuration's rollout.
	EvidenceStaticPodRevision EvidenceKind = "staticPodRevision"
)

// RelyingParty is a process, or a set of processes, that verifies leaves and may present some.
type RelyingParty struct {
	// name is unique within the trust domain.
	Name string `json:"name"`
	// verifies says which leaves this party verifies. A leaf matches if it has any of the usages (or usages is empty)
	// and is one of leaves (or leaves is empty). With both empty the party verifies every leaf of the domain.
	// +optional
	Verifies LeafSelection `json:"verifies,omitempty"`
	// presents are the secretNames (as written in leaves) of the leaves that the members of this party hold.
	// A leaf with {node} is held by the member of that node.
	// +optional
	// +listType=set
	Presents []string `json:"presents,omitempty"`
	// forEachNode makes one member for each chosen node, named as the node. Without it and without
	// members the party has a single member that is named as the party.
	// +optional
	ForEachNode *metav1.LabelSelector `json:"forEachNode,omitempty"`
	// members are the names of the party's members.
	// +optional
	// +listType=set
	Members []string `json:"members,omitempty"`
	// evidence that a member has loaded an anchor, and of the leaf that it presents.
	Evidence Evidence `json:"evidence"`
}

// LeafSelection selects leaves of a trust domain.
type LeafSelection struct {
	// usages, any of which a leaf must have.
	// +optional
	// +listType=set
	Usages []Usage `json:"usages,omitempty"`
	// leaves are secretNames as written in the domain's leaves.
	// +optional
	// +listType=set
	Leaves []string `json:"leaves,omitempty"`
}

// Evidence chooses the kind of proof for a relying party.
type Evidence struct {
	// kind of evidence.
	Kind EvidenceKind `json:"kind"`
	// tlsProbe are the parameters of the kind tlsProbe.
	// +optional
	TLSProbe *TLSProbe `json:"tlsProbe,omitempty"`
	// gracePeriod since publication (of an anchor) or issuance (of a leaf) after which it counts as loaded, for the kind
	// gracePeriod. It is an operator's assumption, not an observation.
	// +optional
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`
}

// TLSProbe handshakes with a running server.
type TLSProbe struct {
	// addresses are host:port pairs, one for each member in the order of members; with forEachNode one entry
	// such as {node}:2379, where {node} becomes the node's first InternalIP.
	// +listType=atomic
	Addresses []string `json:"addresses"`
	// serverName to send and to verify the presented leaf with.
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// clientLeaf is the secretName of a leaf to complete the handshake with, for servers that require one.
	// +optional
	ClientLeaf string `json:"clientLeaf,omitempty"`
	// interval between probes while a rotation is in flight. Defaults to 5s. Nothing is probed in the stage Stable.
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`
	// timeout of one probe. Defaults to 5s.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// Aggregate collects the leaves and bundles of all trust domains of the namespace, each changed in one write.
type Aggregate struct {
	// secretName of the Opaque Secret with the keys SECRET.crt and SECRET.key of every selected leaf.
	SecretName string `json:"secretName"`
	// leaves are the secretNames (as written in the domains' leaves) whose pairs are collected.
	// +listType=set
	Leaves []string `json:"leaves"`
	// configMapName of the ConfigMap with the bundles.
	ConfigMapName string `json:"configMapName"`
	// bundles are the collected bundles.
	// +listType=map
	// +listMapKey=key
	Bundles []AggregatedBundle `json:"bundles"`
}

// AggregatedBundle is one bundle inside the aggregate ConfigMap.
type AggregatedBundle struct {
	// key in the aggregate ConfigMap.
	Key string `json:"key"`
	// configMapName of the bundle that is copied.
	ConfigMapName string `json:"configMapName"`
}
