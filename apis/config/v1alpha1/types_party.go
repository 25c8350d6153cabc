// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RelyingParty is a process, or a set of processes, that verifies leaves, presents some, or both.
// +kubebuilder:validation:XValidation:rule="[has(self.forEachNode), has(self.pods), has(self.members)].filter(set, set).size() <= 1",message="the members are the nodes of forEachNode, or the pods of pods, or they are named: only one of these"
// +kubebuilder:validation:XValidation:rule="!has(self.evidence.tlsProbe) || has(self.pods) != has(self.evidence.tlsProbe.endpoints)",message="a tlsProbe needs endpoints, except that pods are probed at their own addresses and take none"
// +kubebuilder:validation:XValidation:rule="!has(self.pods) || has(self.evidence.tlsProbe) == (has(self.pods.containerPort) || has(self.pods.portName))",message="containerPort or portName say where pods are probed: with the kind tlsProbe, and only with it"
// +kubebuilder:validation:XValidation:rule="!has(self.verifies) || !has(self.verifies.nothing) || !self.verifies.nothing || (has(self.presents) && size(self.presents) > 0)",message="a relying party verifies leaves, presents some, or both"
// +kubebuilder:validation:XValidation:rule="self.evidence.kind != 'staticPodRevision' || has(self.forEachNode)",message="staticPodRevision is seen on nodes: the party needs forEachNode"
// +kubebuilder:validation:XValidation:rule="self.evidence.kind != 'workloadRollout' || has(self.pods)",message="workloadRollout is seen on pods: the party needs pods"
// +kubebuilder:validation:XValidation:rule="self.evidence.kind != 'mounted' || has(self.pods)",message="mounted is seen on pods: the party needs pods"
// +kubebuilder:validation:XValidation:rule="self.evidence.kind != 'caBundle' || ![has(self.forEachNode), has(self.pods), has(self.members), has(self.presents)].exists(set, set)",message="the members of a party with the evidence caBundle are the objects of injectInto of the bundle, which present nothing: it takes no forEachNode, pods, members and presents"
// +kubebuilder:validation:XValidation:rule="self.evidence.kind != 'renewed' || (has(self.presents) && size(self.presents) > 0)",message="the evidence renewed is seen on the leaves that the party presents"
type RelyingParty struct {
	// name is unique within the trust domain.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// verifies says which leaves this party verifies. A leaf matches if it has any of the usages (or usages is empty)
	// and is one of leaves (or leaves is empty). With both empty the party verifies every leaf of the domain.
	// +optional
	Verifies LeafSelection `json:"verifies,omitempty"`
	// presents are the secretNames (as written in leaves) of the leaves that the members of this party hold.
	// A leaf with {node} is held by the member of that node.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MaxLength=253
	Presents []string `json:"presents,omitempty"`
	// reporters are the only accounts that may acknowledge for the members of this party. They also need RBAC
	// permission to create certificaterotations/acknowledge of the signer. Without reporters an account may acknowledge
	// for a member if it has that permission for the resource name SIGNER/PARTY/MEMBER.
	// +optional
	Reporters *Reporters `json:"reporters,omitempty"`
	// forEachNode makes one member for each chosen node, named as the node. Without it, pods and members the party has a
	// single member that is named as the party.
	// +optional
	ForEachNode *metav1.LabelSelector `json:"forEachNode,omitempty"`
	// pods makes one member for each pod that it chooses, named as the pod.
	// +optional
	Pods *PodMembers `json:"pods,omitempty"`
	// members are the names of the party's members.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MaxLength=253
	Members []string `json:"members,omitempty"`
	// evidence chooses how it is proven which anchors a member has loaded, and which leaf it presents.
	Evidence Evidence `json:"evidence"`
}

// LeafSelection selects leaves of a trust domain.
// +kubebuilder:validation:XValidation:rule="!has(self.nothing) || !self.nothing || (!has(self.usages) && !has(self.leaves))",message="nothing excludes usages and leaves"
type LeafSelection struct {
	// nothing is set for a party that verifies no leaf, such as a server that asks for no client certificate. Such a
	// party only presents leaves.
	// +optional
	Nothing bool `json:"nothing,omitempty"`
	// usages are extended key usages, any of which a leaf must have.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2
	Usages []Usage `json:"usages,omitempty"`
	// leaves are secretNames as written in the domain's leaves.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MaxLength=253
	Leaves []string `json:"leaves,omitempty"`
}

// EvidenceKind is the kind of observation that proves that a relying party has loaded an anchor.
// +kubebuilder:validation:Enum=tlsProbe;acknowledgement;gracePeriod;renewed;staticPodRevision;workloadRollout;mounted;caBundle;none
type EvidenceKind string

// Evidence kinds.
const (
	EvidenceTLSProbe        EvidenceKind = "tlsProbe"
	EvidenceAcknowledgement EvidenceKind = "acknowledgement"
	EvidenceGracePeriod     EvidenceKind = "gracePeriod"
	EvidenceRenewed         EvidenceKind = "renewed"
	// EvidenceStaticPodRevision is for the members of the configuration's rollout.
	EvidenceStaticPodRevision EvidenceKind = "staticPodRevision"
	// EvidenceWorkloadRollout is for pods that read their files only when they start.
	EvidenceWorkloadRollout EvidenceKind = "workloadRollout"
	// EvidenceMounted is for pods that mount immutable objects which are named by their content.
	EvidenceMounted EvidenceKind = "mounted"
	// EvidenceCABundle is for kube-apiserver, which verifies webhook servers and aggregated API servers by a caBundle.
	EvidenceCABundle EvidenceKind = "caBundle"
	// EvidenceNone is the operator's statement that the party needs no evidence.
	EvidenceNone EvidenceKind = "none"
)

// Evidence chooses the kind of proof for a relying party.
// +kubebuilder:validation:XValidation:rule="has(self.tlsProbe) == (self.kind == 'tlsProbe')",message="tlsProbe are the parameters of the kind tlsProbe, which needs them"
// +kubebuilder:validation:XValidation:rule="has(self.gracePeriod) == (self.kind == 'gracePeriod')",message="gracePeriod is the parameter of the kind gracePeriod, which needs it"
// +kubebuilder:validation:XValidation:rule="has(self.renewed) == (self.kind == 'renewed')",message="renewed are the parameters of the kind renewed, which needs them: nothing observes that a renewed leaf is presented, so say after which delay it is"
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRollout) || self.kind == 'workloadRollout'",message="workloadRollout are the parameters of the kind workloadRollout"
// +kubebuilder:validation:XValidation:rule="has(self.mounted) == (self.kind == 'mounted')",message="mounted are the parameters of the kind mounted, which needs them: say which volumes of the pods show their anchors and leaves"
// +kubebuilder:validation:XValidation:rule="has(self.caBundle) == (self.kind == 'caBundle')",message="caBundle are the parameters of the kind caBundle, which needs them: nothing observes when a kube-apiserver begins to verify by what was written, so say after which delay it does"
// +kubebuilder:validation:XValidation:rule="has(self.reason) == (self.kind == 'none')",message="the kind none, and no other, needs a reason: it is shown wherever somebody relies on it"
// +kubebuilder:validation:XValidation:rule="!has(self.lease) || self.kind == 'acknowledgement'",message="lease is a parameter of the kind acknowledgement"
type Evidence struct {
	// kind of evidence.
	Kind EvidenceKind `json:"kind"`
	// tlsProbe are the parameters of the kind tlsProbe.
	// +optional
	TLSProbe *TLSProbe `json:"tlsProbe,omitempty"`
	// gracePeriod is how long after its publication an anchor, or after its issuance a leaf, counts as loaded, for the
	// kind gracePeriod. It is an assumption of the operator, not an observation.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be a duration between 1s and 8760h"
	GracePeriod *metav1.Duration `json:"gracePeriod,omitempty"`
	// renewed are the parameters of the kind renewed.
	// +optional
	Renewed *RenewedEvidence `json:"renewed,omitempty"`
	// workloadRollout are the parameters of the kind workloadRollout.
	// +optional
	WorkloadRollout *WorkloadRollout `json:"workloadRollout,omitempty"`
	// mounted are the parameters of the kind mounted.
	// +optional
	Mounted *MountedEvidence `json:"mounted,omitempty"`
	// caBundle are the parameters of the kind caBundle.
	// +optional
	CABundle *CABundleEvidence `json:"caBundle,omitempty"`
	// lease is how long an acknowledgement counts; a running process has to report again before it ends. Between 1m and
	// 720h, defaults to 1h. For the kind acknowledgement.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('720h')",message="must be a duration between 1m and 720h"
	Lease *metav1.Duration `json:"lease,omitempty"`
	// reason says why no evidence is needed, for the kind none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// RenewedEvidence are the parameters of the kind renewed.
type RenewedEvidence struct {
	// minimumDelay is how long after its renewal a leaf counts as presented, because a process does not load a Secret
	// at the moment when it is written. It is an assumption of the operator, not an observation. At least 1s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be a duration between 1s and 8760h"
	MinimumDelay metav1.Duration `json:"minimumDelay"`
}

// WorkloadRollout is the evidence of pods whose template names the content that they start with, by annotations of the
// form KIND.content.certrotation.dev/NAME (KIND configmap or secret) with the hash of the object of that name.
type WorkloadRollout struct {
	// startGate says what keeps a pod from starting with an older content that kubelet has cached. Defaults to Required.
	// +optional
	StartGate StartGate `json:"startGate,omitempty"`
	// workloads of the namespace of the configuration whose pods the members are and which certrotation restarts, by
	// those annotations of their templates, when a rotation waits for that. Without any somebody else changes the
	// templates.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Workloads []RestartedWorkload `json:"workloads,omitempty"`
}

// RestartedWorkload is a workload that certrotation restarts.
// +kubebuilder:validation:XValidation:rule="!has(self.quorum) || self.kind == 'StatefulSet'",message="quorum is for a StatefulSet whose pods are the members of an etcd cluster"
type RestartedWorkload struct {
	Workload `json:",inline"`
	// quorum says that the pods of this StatefulSet are the members of an etcd cluster, and how they are asked: before a
	// pod is replaced and afterwards. certrotation then replaces the pods itself, one at a time, by evictions, and the
	// StatefulSet has to have the updateStrategy OnDelete. A workload has the same quorum wherever it is named.
	// +optional
	Quorum *Quorum `json:"quorum,omitempty"`
}

// StartGate says whether a pod has to wait, at its start, for the content that its template names.
// +kubebuilder:validation:Enum=Required;Assumed
type StartGate string

// Start gates.
const (
	// StartGateRequired counts only pods with an init container that runs `certrotation wait` for the hash of the annotation.
	StartGateRequired StartGate = "Required"
	// StartGateAssumed counts pods without one too. It is the weaker proof: kubelet may have mounted an older content.
	StartGateAssumed StartGate = "Assumed"
)

// WorkloadKind is the kind of a workload that can be restarted.
// +kubebuilder:validation:Enum=Deployment;StatefulSet;DaemonSet
type WorkloadKind string

// Kinds of workloads.
const (
	Deployment  WorkloadKind = "Deployment"
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
)

// Workload names a workload of the namespace of the configuration.
type Workload struct {
	// kind is Deployment, StatefulSet or DaemonSet.
	Kind WorkloadKind `json:"kind"`
	// name of the workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// MountedEvidence is the evidence of pods that mount immutable Secrets or ConfigMaps whose names end in a hash of their
// content: what such a pod has loaded follows from its spec. The objects consent by the annotation
// certrotation.dev/configuration. Who makes them, and changes their names in the template of the pods, is somebody else.
// +kubebuilder:validation:XValidation:rule="has(self.trustVolume) || has(self.leafVolumes)",message="name the volume that shows the anchors of the pods in trustVolume, or those with their leaves in leafVolumes, or both"
// +kubebuilder:validation:XValidation:rule="!has(self.trustKey) || has(self.trustVolume)",message="trustKey is a key of what trustVolume shows"
type MountedEvidence struct {
	// trustVolume is the name of the volume of the pods that shows the anchors by which they verify.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	TrustVolume string `json:"trustVolume,omitempty"`
	// trustKey is the key of the object with these anchors. Defaults to ca-bundle.crt.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TrustKey string `json:"trustKey,omitempty"`
	// leafVolumes are the names of the volumes of the pods that show the leaves which they present, each under the key
	// tls.crt of its Secret.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	LeafVolumes []string `json:"leafVolumes,omitempty"`
}

// CABundleEvidence are the parameters of the kind caBundle. The members are the objects of injectInto of the domain's bundle,
// each named KIND.NAME.
type CABundleEvidence struct {
	// minimumDelay is how long after a caBundle has come to hold an anchor every kube-apiserver counts as verifying by it. It is
	// an assumption of the operator, not an observation. At least 1s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('8760h')",message="must be a duration between 1s and 8760h"
	MinimumDelay metav1.Duration `json:"minimumDelay"`
}

// ProbeProof is what a probe takes as proof that a server trusts a CA.
// +kubebuilder:validation:Enum=AcceptableAuthorities;Handshake
type ProbeProof string

// Proofs of a probe.
const (
	// ProofAcceptableAuthorities is that the server lists the CA among those from which it accepts client certificates.
	ProofAcceptableAuthorities ProbeProof = "AcceptableAuthorities"
	// ProofHandshake is that the server completes a handshake in which it is shown a short-lived leaf of the CA.
	ProofHandshake ProbeProof = "Handshake"
)

// TLSProbe handshakes with a running server.
type TLSProbe struct {
	// endpoints at which the members are probed; each member has at least one. With forEachNode they are those of every
	// node. Every address that the host of an endpoint resolves to is probed. A Service leads each connection to another
	// of its pods, so that one of them speaks for all: name them with pods, which takes no endpoints.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=500
	Endpoints []ProbeEndpoint `json:"endpoints,omitempty"`
	// serverName is sent to the server, and the presented leaf has to be valid for it, where an endpoint does not set
	// its own.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// clientLeaf is the secretName of a leaf to complete the handshake with, for servers that require a client
	// certificate, where an endpoint does not set its own.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientLeaf string `json:"clientLeaf,omitempty"`
	// proof is what counts as proof that the server trusts a CA: AcceptableAuthorities, or Handshake for servers whose
	// list of acceptable authorities is missing or wrong. Defaults to AcceptableAuthorities.
	// +optional
	Proof ProbeProof `json:"proof,omitempty"`
	// interval between probes while a rotation is in flight. Defaults to 5s. Nothing is probed in the stage Stable.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="must be a duration between 1s and 1h"
	Interval *metav1.Duration `json:"interval,omitempty"`
	// timeout of one probe. Defaults to 5s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('100ms') && duration(self) <= duration('1m')",message="must be a duration between 100ms and 1m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ProbeEndpoint is an address at which a member serves, and the leaf that it presents there.
type ProbeEndpoint struct {
	// member that serves there. Empty with forEachNode; otherwise it may be left out if the party has a single member.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Member string `json:"member,omitempty"`
	// address as host:port. With forEachNode the host is {node}, which becomes the node's first InternalIP.
	// +kubebuilder:validation:MaxLength=300
	// +kubebuilder:validation:Pattern=`^.+:[0-9]+$`
	Address string `json:"address"`
	// presents is the secretName (as written in leaves) of the leaf that is presented there, one of those that the
	// party presents. Defaults to that leaf if the party presents only one.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Presents string `json:"presents,omitempty"`
	// serverName is sent to the server, and the presented leaf has to be valid for it. Defaults to that of the probe,
	// and then to the host.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServerName string `json:"serverName,omitempty"`
	// clientLeaf is the secretName of a leaf to complete the handshake with. Defaults to that of the probe.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClientLeaf string `json:"clientLeaf,omitempty"`
}

// Reporters are accounts of the API server. {member} may occur once in the name of a user or a service account and is
// replaced by the name of the member that is reported for, so that no member of a party can report for another one.
// Wildcards are not supported, and accounts and groups that include everybody, such as system:authenticated, are
// refused.
// +kubebuilder:validation:XValidation:rule="has(self.users) && size(self.users) > 0 || has(self.groups) && size(self.groups) > 0 || has(self.serviceAccounts) && size(self.serviceAccounts) > 0",message="name a user, a group or a service account"
type Reporters struct {
	// users by name, for example system:node:{member}.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[^*{}]*(\{member\}[^*{}]*)?$`
	Users []string `json:"users,omitempty"`
	// groups whose users may report for every member.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[^*{}]*$`
	Groups []string `json:"groups,omitempty"`
	// serviceAccounts of the namespace of the configuration, by name, for example {member}.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9.-]*(\{member\}[a-z0-9.-]*)?$`
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
}

// Matches reports whether the selection includes the leaf: the party verifies anything at all, the leaf is one of the
// named leaves, if any are named, and it has one of the usages, if any are named.
func (s LeafSelection) Matches(leaf Leaf) bool {
	if s.Nothing || len(s.Leaves) > 0 && !slices.Contains(s.Leaves, leaf.SecretName) {
		return false
	}
	return len(s.Usages) == 0 || slices.ContainsFunc(s.Usages, func(usage Usage) bool {
		return slices.Contains(leaf.Usages, usage)
	})
}
