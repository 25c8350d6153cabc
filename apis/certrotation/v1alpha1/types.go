// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Role of a certificate in its trust domain.
// +enum
type Role string

// Roles.
const (
	RoleSigner Role = "Signer"
	RoleLeaf   Role = "Leaf"
)

// Stage of the rotation of a trust domain. It is derived from content on every look and never stored.
// +enum
type Stage string

// Stages, in the order of the protocol.
const (
	StageStable       Stage = "Stable"
	StageDistributing Stage = "Distributing"
	StageReissuing    Stage = "Reissuing"
	StageDraining     Stage = "Draining"
	StageRetiring     Stage = "Retiring"
)

// Condition types of both resources.
const (
	ConditionReady       = "Ready"
	ConditionProgressing = "Progressing"
	ConditionBlocked     = "Blocked"
	ConditionDegraded    = "Degraded"
)

// +genclient
// +genclient:onlyVerbs=get,list,watch
// +genclient:method=Rotate,verb=create,subresource=rotate,input=RotationRequest,result=RotationPlan
// +genclient:method=Abort,verb=create,subresource=abort,input=AbortRequest,result=RotationPlan
// +genclient:method=Acknowledge,verb=create,subresource=acknowledge,input=Acknowledgement,result=Acknowledgement
// +genclient:method=Waive,verb=create,subresource=waive,input=Waiver,result=Waiver
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CertificateRotation is the live state of one certificate Secret. It is computed, has the name of its Secret, and
// cannot be written.
type CertificateRotation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the configuration says of this certificate.
	Spec CertificateRotationSpec `json:"spec"`
	// status is what is.
	Status CertificateRotationStatus `json:"status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CertificateRotationList is a list of CertificateRotations.
type CertificateRotationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items in the order of their namespaces and names.
	Items []CertificateRotation `json:"items"`
}

// CertificateRotationSpec is the place of a certificate in its trust domain.
type CertificateRotationSpec struct {
	// role is Signer or Leaf.
	Role Role `json:"role"`
	// trustDomain is the name of the trust domain in the namespace's RotationConfiguration.
	TrustDomain string `json:"trustDomain"`
	// signer is the name of the signer's Secret.
	Signer string `json:"signer"`
	// bundle is the name of the ConfigMap of trust anchors.
	Bundle string `json:"bundle"`
	// usages of a leaf.
	// +optional
	// +listType=atomic
	Usages []string `json:"usages,omitempty"`
}

// Certificate are the public facts of a certificate.
type Certificate struct {
	// fingerprint is the lower-case hexadecimal SHA-256 of the DER encoding.
	Fingerprint string `json:"fingerprint"`
	// subject distinguished name.
	Subject string `json:"subject"`
	// issuer distinguished name.
	Issuer string `json:"issuer"`
	// serialNumber in lower-case hexadecimal.
	SerialNumber string `json:"serialNumber"`
	// keyAlgorithm such as ECDSA-P256.
	KeyAlgorithm string `json:"keyAlgorithm"`
	// notBefore and notAfter bound the validity.
	NotBefore metav1.Time `json:"notBefore"`
	NotAfter  metav1.Time `json:"notAfter"`
	// signedBy is the fingerprint of the CA whose key made the signature, when that CA is known.
	// +optional
	SignedBy string `json:"signedBy,omitempty"`
}

// TrustCount counts the members that trust what they must trust.
type TrustCount struct {
	// trusted members.
	Trusted int32 `json:"trusted"`
	// total members.
	Total int32 `json:"total"`
	// unknown members: there is no current evidence of them, and nobody asks for it while no rotation is in flight.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
}

// MemberWaiver is the decision of a person to go on without the evidence of a member.
type MemberWaiver struct {
	// reason that was given.
	Reason string `json:"reason"`
	// waivedBy is the user who decided.
	// +optional
	WaivedBy string `json:"waivedBy,omitempty"`
	// expires is when the waiver ends.
	Expires metav1.Time `json:"expires"`
}

// MemberStatus is what is known of one member of a relying party.
type MemberStatus struct {
	// party is the relying party's name.
	Party string `json:"party"`
	// member of the party.
	Member string `json:"member"`
	// evidence is the kind of proof that the party is configured with.
	Evidence string `json:"evidence"`
	// known says whether there is current evidence of the member, of whatever it says. While no rotation is in flight
	// evidence is not renewed, and what has lapsed is not known.
	Known bool `json:"known"`
	// verifiesNothing says that the member only presents leaves: there is nothing that it has to load.
	// +optional
	VerifiesNothing bool `json:"verifiesNothing,omitempty"`
	// trusted says whether there is evidence that the member has loaded the newest CA of the domain.
	Trusted bool `json:"trusted"`
	// delivered says whether there is evidence that the member presents the current leaves that it holds.
	Delivered bool `json:"delivered"`
	// lastChange is when the observation last changed.
	// +optional
	LastChange *metav1.Time `json:"lastChange,omitempty"`
	// reason why no evidence is needed, for the evidence none.
	// +optional
	Reason string `json:"reason,omitempty"`
	// waiver that is in force.
	// +optional
	Waiver *MemberWaiver `json:"waiver,omitempty"`
	// message says why not, if so.
	// +optional
	Message string `json:"message,omitempty"`
}

// Blocker is something that the rotation waits for.
type Blocker struct {
	// party and member that hold the rotation up, if any.
	// +optional
	Party string `json:"party,omitempty"`
	// +optional
	Member string `json:"member,omitempty"`
	// object that holds the rotation up, as kind/name, if any.
	// +optional
	Object string `json:"object,omitempty"`
	// reason is a word in CamelCase.
	Reason string `json:"reason"`
	// message is for people and names the next step.
	Message string `json:"message"`
	// since is when it began, if that is known.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// CertificateRotationStatus is the state of the certificate and, for a signer, of its rotation.
type CertificateRotationStatus struct {
	// stage of the trust domain's rotation.
	Stage Stage `json:"stage"`
	// stageSince is when the stage began.
	// +optional
	StageSince *metav1.Time `json:"stageSince,omitempty"`
	// stageDeadline is when the stage counts as overdue.
	// +optional
	StageDeadline *metav1.Time `json:"stageDeadline,omitempty"`
	// certificate is the leaf, or the active CA of a signer.
	// +optional
	Certificate *Certificate `json:"certificate,omitempty"`
	// next is the CA that is being distributed and cannot sign yet.
	// +optional
	Next *Certificate `json:"next,omitempty"`
	// previous are the CAs that were replaced and are kept until nothing needs them.
	// +optional
	// +listType=atomic
	Previous []Certificate `json:"previous,omitempty"`
	// rotatesAt is when the certificate is due.
	// +optional
	RotatesAt *metav1.Time `json:"rotatesAt,omitempty"`
	// trust counts the members that have loaded the CA that they need: for a signer every member, for a leaf those that
	// verify it.
	Trust TrustCount `json:"trust"`
	// members of the relying parties.
	// +optional
	// +listType=atomic
	Members []MemberStatus `json:"members,omitempty"`
	// blockers are what the rotation waits for.
	// +optional
	// +listType=atomic
	Blockers []Blocker `json:"blockers,omitempty"`
	// conditions are Ready, Progressing, Blocked and Degraded. Behind them a signer has those of the rollout of its
	// configuration, if there is one.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +genclient
// +genclient:onlyVerbs=get,list,watch
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BundleStatus is the live state of one bundle of trust anchors. It is computed, has the name of its ConfigMap, and
// cannot be written.
type BundleStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the configuration says of this bundle.
	Spec BundleStatusSpec `json:"spec"`
	// status is what is.
	Status BundleStatusStatus `json:"status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BundleStatusList is a list of BundleStatuses.
type BundleStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items in the order of their namespaces and names.
	Items []BundleStatus `json:"items"`
}

// BundleStatusSpec is the place of a bundle in its trust domain.
type BundleStatusSpec struct {
	// trustDomain is the name of the trust domain in the namespace's RotationConfiguration.
	TrustDomain string `json:"trustDomain"`
	// signer is the name of the signer's Secret.
	Signer string `json:"signer"`
}

// Anchor is one trust anchor of a bundle.
type Anchor struct {
	Certificate `json:",inline"`
	// slot of the signer that the anchor comes from: active, next, previous, retired (a former generation
	// of this signer) or foreign.
	Slot string `json:"slot"`
	// leaves is how many live leaves chain to the anchor.
	Leaves int32 `json:"leaves"`
	// trust counts the members that have loaded the anchor.
	Trust TrustCount `json:"trust"`
	// safeToRemove says whether nothing needs the anchor.
	SafeToRemove bool `json:"safeToRemove"`
	// reason why the anchor cannot be removed.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// BundleStatusStatus is the state of a bundle.
type BundleStatusStatus struct {
	// stage of the trust domain's rotation.
	Stage Stage `json:"stage"`
	// anchors of the bundle, in its order.
	// +optional
	// +listType=atomic
	Anchors []Anchor `json:"anchors,omitempty"`
	// trust counts the members that have loaded the newest anchor.
	Trust TrustCount `json:"trust"`
	// conditions are Ready, Progressing, Blocked and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RotationRequest is the body of the subresource rotate.
type RotationRequest struct {
	metav1.TypeMeta `json:",inline"`

	// reason is recorded with the request, for people. At most 256 characters.
	// +optional
	Reason string `json:"reason,omitempty"`
	// compromised says that the key must not be trusted any longer than needed.
	// +optional
	Compromised bool `json:"compromised,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AbortRequest is the body of the subresource abort.
type AbortRequest struct {
	metav1.TypeMeta `json:",inline"`

	// reason is recorded with the request, for people. At most 256 characters.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RotationPlan are the steps of a rotation, in order, and what blocks them now.
type RotationPlan struct {
	metav1.TypeMeta `json:",inline"`

	// target is the Secret that is rotated.
	Target string `json:"target"`
	// hash over the steps; the plan shown and the plan executed have the same hash.
	Hash string `json:"hash"`
	// steps in order.
	// +listType=atomic
	Steps []PlanStep `json:"steps"`
	// blockers that are known now.
	// +optional
	// +listType=atomic
	Blockers []Blocker `json:"blockers,omitempty"`
	// wouldBreak lists the leaves, with those who verify them, that would be refused if the CA were distrusted at once
	// instead.
	// +optional
	// +listType=atomic
	WouldBreak []string `json:"wouldBreak,omitempty"`
}

// PlanStep is one step of a plan.
type PlanStep struct {
	// stage in which the step happens.
	Stage Stage `json:"stage"`
	// action such as GenerateNext, PublishAnchor, IssueLeaf, Promote, RetireAnchor, DestroyPrevious.
	Action string `json:"action"`
	// object that is written, as kind/name.
	Object string `json:"object"`
	// waitsFor are the members (party/member) whose evidence the step needs.
	// +optional
	// +listType=atomic
	WaitsFor []string `json:"waitsFor,omitempty"`
	// message for people.
	Message string `json:"message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Acknowledgement is the body of the subresource acknowledge of a signer: a member reports what it has loaded.
type Acknowledgement struct {
	metav1.TypeMeta `json:",inline"`

	// party is the relying party's name.
	Party string `json:"party"`
	// member of the party. Defaults to the party's name.
	// +optional
	Member string `json:"member,omitempty"`
	// trusts are the fingerprints of the anchors that the member has loaded.
	// +listType=set
	Trusts []string `json:"trusts"`
	// presents are the fingerprints of the leaves that the member presents.
	// +optional
	// +listType=set
	Presents []string `json:"presents,omitempty"`
	// instance identifies the process among those of the member, such as the UID of its pod. Defaults to one that is derived
	// from startedAt. The member counts as far as all of its processes do.
	// +optional
	Instance string `json:"instance,omitempty"`
	// startedAt is when the process started.
	StartedAt metav1.MicroTime `json:"startedAt"`
	// observedAt is when the process has looked at what it has loaded. A report of long ago, or of the future, is refused.
	ObservedAt metav1.MicroTime `json:"observedAt"`
	// expires is when the report ceases to count unless the process reports again. It is set in the answer.
	// +optional
	Expires *metav1.MicroTime `json:"expires,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Waiver is the body of the subresource waive of a signer: rotations of its trust domain go on without the evidence of one
// member.
type Waiver struct {
	metav1.TypeMeta `json:",inline"`

	// party is the relying party's name.
	Party string `json:"party"`
	// member of the party. Defaults to the party's name.
	// +optional
	Member string `json:"member,omitempty"`
	// reason why the member need not be waited for. At most 256 characters.
	Reason string `json:"reason"`
	// expiresAfter is how long the waiver lasts, at most 720h. Zero withdraws it. Either this or expires is set.
	// +optional
	ExpiresAfter *metav1.Duration `json:"expiresAfter,omitempty"`
	// expires is when the waiver ends. A time in the past withdraws it.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
	// waivedBy is the user who decided. It is set in the answer.
	// +optional
	WaivedBy string `json:"waivedBy,omitempty"`
}
