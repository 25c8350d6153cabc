// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RelyingParty is a process, or a set of processes, that verifies leaves, presents leaves, or both.
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
	// verifies selects the leaves that this party verifies. A leaf matches if it has one of usages and is one of
	// leaves. An empty list matches every leaf of the domain.
	// +optional
	Verifies LeafSelection `json:"verifies,omitempty"`
	// presents are the leaves that the members of this party hold, by secretName as written in leaves. A leaf with
	// {node} is held by the member of that node.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:items:MaxLength=253
	Presents []string `json:"presents,omitempty"`
	// reporters are the only accounts that may acknowledge for the members of this party. They also need RBAC
	// permission to create certificaterotations/acknowledge of the signer. Without reporters, an account needs that
	// permission for the resource name SIGNER/PARTY/MEMBER.
	// +optional
	Reporters *Reporters `json:"reporters,omitempty"`
	// forEachNode makes one member for each selected node, with the name of the node. Without forEachNode, pods and
	// members, the party has a single member with the name of the party.
	// +optional
	ForEachNode *metav1.LabelSelector `json:"forEachNode,omitempty"`
	// pods makes one member for each selected pod, with the name of the pod.
	// +optional
	Pods *PodMembers `json:"pods,omitempty"`
	// members are the names of the party's members.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5000
	// +kubebuilder:validation:items:MaxLength=253
	Members []string `json:"members,omitempty"`
	// evidence selects how it is proven which anchors a member has loaded, and which leaf it presents.
	Evidence Evidence `json:"evidence"`
}

// LeafSelection selects leaves of a trust domain.
// +kubebuilder:validation:XValidation:rule="!has(self.nothing) || !self.nothing || (!has(self.usages) && !has(self.leaves))",message="nothing excludes usages and leaves"
type LeafSelection struct {
	// nothing is true for a party that verifies no leaf, such as a server that requests no client certificate. Such a
	// party only presents leaves.
	// +optional
	Nothing bool `json:"nothing,omitempty"`
	// usages are extended key usages. A leaf must have at least one of them.
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
	// EvidenceMounted is for pods that mount immutable objects whose names end in a hash of their content.
	EvidenceMounted EvidenceKind = "mounted"
	// EvidenceCABundle is for kube-apiserver, which verifies webhook servers and aggregated API servers with a
	// caBundle.
	EvidenceCABundle EvidenceKind = "caBundle"
	// EvidenceNone is the operator's statement that the party needs no evidence.
	EvidenceNone EvidenceKind = "none"
)

// MaxLease is the longest lease of an acknowledgement.
const MaxLease = 720 * time.Hour

// Evidence selects the kind of evidence for a relying party.
// +kubebuilder:validation:XValidation:rule="has(self.tlsProbe) == (self.kind == 'tlsProbe')",message="tlsProbe are the parameters of the kind tlsProbe, which needs them"
// +kubebuilder:validation:XValidation:rule="has(self.gracePeriod) == (self.kind == 'gracePeriod')",message="gracePeriod is the parameter of the kind gracePeriod, which needs it"
// +kubebuilder:validation:XValidation:rule="has(self.renewed) == (self.kind == 'renewed')",message="renewed are the parameters of the kind renewed, which needs them: nothing observes that a renewed leaf is presented, so say after which delay it is"
// +kubebuilder:validation:XValidation:rule="!has(self.workloadRollout) || self.kind == 'workloadRollout'",message="workloadRollout are the parameters of the kind workloadRollout"
// +kubebuilder:validation:XValidation:rule="has(self.mounted) == (self.kind == 'mounted')",message="mounted are the parameters of the kind mounted, which needs them: say which volumes of the pods show their anchors and leaves"
// +kubebuilder:validation:XValidation:rule="has(self.caBundle) == (self.kind == 'caBundle')",message="caBundle are the parameters of the kind caBundle, which needs them: nothing observes when a kube-apiserver begins to verify by what was written, so say after which delay it does"
// +kubebuilder:validation:XValidation:rule="has(self.reason) == (self.kind == 'none')",message="the kind none, and no other, needs a reason: it is shown wherever the party counts"
// +kubebuilder:validation:XValidation:rule="!has(self.lease) || self.kind == 'acknowledgement'",message="lease is a parameter of the kind acknowledgement"
type Evidence struct {
	// kind of evidence.
	Kind EvidenceKind `json:"kind"`
	// tlsProbe are the parameters of the kind tlsProbe.
	// +optional
	TLSProbe *TLSProbe `json:"tlsProbe,omitempty"`
	// gracePeriod is the time after which a published anchor, or an issued leaf, counts as loaded, for the kind
	// gracePeriod. It is an assumption of the operator, not an observation.
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
	// lease is how long an acknowledgement counts, for the kind acknowledgement. A running process must report again
	// before it ends. Between 1m and 720h, defaults to 1h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('720h')",message="must be a duration between 1m and 720h"
	Lease *metav1.Duration `json:"lease,omitempty"`
	// reason explains why no evidence is needed, for the kind none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="size(self.trim()) > 0",message="say why no evidence is needed: it is shown wherever the party counts"
	Reason string `json:"reason,omitempty"`
}

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

// Reporters are accounts of the API server. {member} may occur once in the name of a user or a service account. It
// is replaced by the name of the reported member, so that no member can report for another one. Wildcards are not
// supported. Accounts and groups that include every caller, such as system:authenticated, are refused.
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

// Matches reports whether the selection includes the leaf. An empty list of usages or leaves matches every leaf.
func (s LeafSelection) Matches(leaf Leaf) bool {
	if s.Nothing || len(s.Leaves) > 0 && !slices.Contains(s.Leaves, leaf.SecretName) {
		return false
	}
	return len(s.Usages) == 0 || slices.ContainsFunc(s.Usages, func(usage Usage) bool {
		return slices.Contains(leaf.Usages, usage)
	})
}
