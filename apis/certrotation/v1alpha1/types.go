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

// Stage of the rotation of a trust domain. It is always derived from the current objects and never stored.
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

// CertificateRotation is the live state of one certificate Secret. It is computed from that Secret, has its name, and
// is read-only.
type CertificateRotation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the RotationConfiguration says about this certificate.
	Spec CertificateRotationSpec `json:"spec"`
	// status is the observed state.
	Status CertificateRotationStatus `json:"status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CertificateRotationList is a list of CertificateRotations.
type CertificateRotationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are ordered by namespace and name.
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
	// usages are the extended key usages of a leaf.
	// +optional
	// +listType=atomic
	Usages []string `json:"usages,omitempty"`
}

// Certificate holds the public facts of a certificate.
type Certificate struct {
	// fingerprint is the lower-case hexadecimal SHA-256 of the DER encoding.
	Fingerprint string `json:"fingerprint"`
	// subject is the distinguished name of the subject.
	Subject string `json:"subject"`
	// issuer is the distinguished name of the issuer.
	Issuer string `json:"issuer"`
	// serialNumber is the serial number in lower-case hexadecimal.
	SerialNumber string `json:"serialNumber"`
	// keyAlgorithm is the kind and size of the key, such as ECDSA-P256.
	KeyAlgorithm string `json:"keyAlgorithm"`
	// notBefore and notAfter bound the validity.
	NotBefore metav1.Time `json:"notBefore"`
	NotAfter  metav1.Time `json:"notAfter"`
	// signedBy is the fingerprint of the CA whose key made the signature, when that CA is known.
	// +optional
	SignedBy string `json:"signedBy,omitempty"`
}

// TrustCount counts members by whether they trust the CA in question.
type TrustCount struct {
	// trusted is the number of members for which there is evidence that they trust the CA.
	Trusted int32 `json:"trusted"`
	// total is the number of members.
	Total int32 `json:"total"`
	// unknown is the number of members without current evidence. No evidence is collected while no rotation is in
	// flight.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
}

// MemberWaiver is a person's decision to continue without the evidence of a member.
type MemberWaiver struct {
	// reason is the reason that was given for the waiver.
	Reason string `json:"reason"`
	// waivedBy is the user who decided.
	// +optional
	WaivedBy string `json:"waivedBy,omitempty"`
	// expires is when the waiver ends.
	Expires metav1.Time `json:"expires"`
}

// MemberStatus is what is known about one member of a relying party.
type MemberStatus struct {
	// party is the relying party's name.
	Party string `json:"party"`
	// member is the member's name.
	Member string `json:"member"`
	// evidence is the kind of evidence that is configured for the party.
	Evidence string `json:"evidence"`
	// known is true if there is current evidence of the member, whether or not it shows trust. Evidence is not renewed
	// while no rotation is in flight, so it lapses then.
	Known bool `json:"known"`
	// verifiesNothing is true if the member only presents leaves, so that it has no anchor to load.
	// +optional
	VerifiesNothing bool `json:"verifiesNothing,omitempty"`
	// trusted is true if there is evidence that the member has loaded the newest CA of the trust domain.
	Trusted bool `json:"trusted"`
	// delivered is true if there is evidence that the member presents the current version of every leaf that it holds.
	Delivered bool `json:"delivered"`
	// lastChange is when the evidence of the member last changed.
	// +optional
	LastChange *metav1.Time `json:"lastChange,omitempty"`
	// reason says why no evidence is needed, if evidence is none, or what is assumed by the evidence that there is.
	// +optional
	Reason string `json:"reason,omitempty"`
	// waiver is the waiver that is in force for the member, if any.
	// +optional
	Waiver *MemberWaiver `json:"waiver,omitempty"`
	// message says why the member is not trusted or not delivered.
	// +optional
	Message string `json:"message,omitempty"`
}

// Blocker is something that the rotation waits for.
type Blocker struct {
	// party and member name the member that holds up the rotation, if any.
	// +optional
	Party string `json:"party,omitempty"`
	// +optional
	Member string `json:"member,omitempty"`
	// object is the object that holds up the rotation, as Kind/name, if any.
	// +optional
	Object string `json:"object,omitempty"`
	// reason is a machine-readable word in CamelCase.
	Reason string `json:"reason"`
	// message explains the blocker and names the next step.
	Message string `json:"message"`
	// since is when the blocker began, if that is known.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}

// CertificateRotationStatus is the state of the certificate and, for a signer, of its rotation.
type CertificateRotationStatus struct {
	// stage is the stage of the trust domain's rotation.
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
	// rotatesAt is when the certificate is due for renewal.
	// +optional
	RotatesAt *metav1.Time `json:"rotatesAt,omitempty"`
	// trust counts the members that have loaded the CA that they need: for a signer every member, for a leaf those that
	// verify it.
	Trust TrustCount `json:"trust"`
	// members are the members of the relying parties.
	// +optional
	// +listType=atomic
	Members []MemberStatus `json:"members,omitempty"`
	// blockers are what the rotation waits for.
	// +optional
	// +listType=atomic
	Blockers []Blocker `json:"blockers,omitempty"`
	// conditions are Ready, Progressing, Blocked and Degraded. For a signer they are followed by the conditions of the
	// configuration's rollout, if it has one.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +genclient
// +genclient:onlyVerbs=get,list,watch
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BundleStatus is the live state of one bundle of trust anchors. It is computed from the ConfigMap of the bundle, has
// its name, and is read-only.
type BundleStatus struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the RotationConfiguration says about this bundle.
	Spec BundleStatusSpec `json:"spec"`
	// status is the observed state.
	Status BundleStatusStatus `json:"status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BundleStatusList is a list of BundleStatuses.
type BundleStatusList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	// items are ordered by namespace and name.
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
	// slot is the slot of the signer that the anchor belongs to: active, next, previous, retired (an earlier CA of this
	// signer) or foreign (a CA that is not of this signer).
	Slot string `json:"slot"`
	// leaves is how many live leaves chain to the anchor.
	Leaves int32 `json:"leaves"`
	// trust counts the members that have loaded the anchor.
	Trust TrustCount `json:"trust"`
	// safeToRemove is true if nothing needs the anchor any more.
	SafeToRemove bool `json:"safeToRemove"`
	// reason says why the anchor cannot be removed.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// BundleStatusStatus is the state of a bundle.
type BundleStatusStatus struct {
	// stage is the stage of the trust domain's rotation.
	Stage Stage `json:"stage"`
	// anchors are the trust anchors in the order of the bundle.
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

	// reason is recorded with the request. At most 256 characters.
	// +optional
	Reason string `json:"reason,omitempty"`
	// compromised is true if the key must not be trusted any longer than necessary.
	// +optional
	Compromised bool `json:"compromised,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AbortRequest is the body of the subresource abort.
type AbortRequest struct {
	metav1.TypeMeta `json:",inline"`

	// reason is recorded with the request. At most 256 characters.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RotationPlan lists the steps of a rotation, in order, and what blocks them now.
type RotationPlan struct {
	metav1.TypeMeta `json:",inline"`

	// target is the Secret that is rotated.
	Target string `json:"target"`
	// hash is computed over the steps: the plan that was shown and the plan that is executed have the same hash.
	Hash string `json:"hash"`
	// steps are the steps of the rotation, in order.
	// +listType=atomic
	Steps []PlanStep `json:"steps"`
	// blockers are what would hold up the rotation now.
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
	// stage is the stage in which the step happens.
	Stage Stage `json:"stage"`
	// action is what is done, such as GenerateNext, PublishAnchor, IssueLeaf, Promote, RetireAnchor, DestroyPrevious.
	Action string `json:"action"`
	// object is the object that is written, as Kind/name.
	Object string `json:"object"`
	// waitsFor are the members whose evidence the step needs, as PARTY/MEMBER, or PARTY alone where its member has its name.
	// +optional
	// +listType=atomic
	WaitsFor []string `json:"waitsFor,omitempty"`
	// message describes the step.
	Message string `json:"message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Acknowledgement is the body of the subresource acknowledge of a signer: a member reports what it has loaded.
type Acknowledgement struct {
	metav1.TypeMeta `json:",inline"`

	// party is the relying party's name.
	Party string `json:"party"`
	// member is the member's name. Defaults to the party's name.
	// +optional
	Member string `json:"member,omitempty"`
	// trusts are the fingerprints of the anchors that the member has loaded.
	// +listType=set
	Trusts []string `json:"trusts"`
	// presents are the fingerprints of the leaves that the member presents.
	// +optional
	// +listType=set
	Presents []string `json:"presents,omitempty"`
	// instance identifies the process among those of the member. Of a member that is a pod it is the UID of the pod, whose
	// own token is needed. Defaults to a value that is derived from startedAt. A member has loaded an anchor only if all of
	// its processes have.
	// +optional
	Instance string `json:"instance,omitempty"`
	// startedAt is when the process started.
	StartedAt metav1.MicroTime `json:"startedAt"`
	// observedAt is when the process looked at what it has loaded. A report that is too old, or from the future, is
	// refused.
	ObservedAt metav1.MicroTime `json:"observedAt"`
	// expires is when the report ceases to count unless the process reports again. It is set in the response.
	// +optional
	Expires *metav1.MicroTime `json:"expires,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Waiver is the body of the subresource waive of a signer: rotations of its trust domain continue without the evidence
// of one member.
type Waiver struct {
	metav1.TypeMeta `json:",inline"`

	// party is the relying party's name.
	Party string `json:"party"`
	// member is the member's name. Defaults to the party's name.
	// +optional
	Member string `json:"member,omitempty"`
	// reason says why the member need not be waited for. At most 256 characters.
	Reason string `json:"reason"`
	// expiresAfter is how long the waiver lasts, at most 720h. Zero withdraws it. Either this or expires is set.
	// +optional
	ExpiresAfter *metav1.Duration `json:"expiresAfter,omitempty"`
	// expires is when the waiver ends. A time in the past withdraws it.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
	// waivedBy is the user who decided. It is set in the response.
	// +optional
	WaivedBy string `json:"waivedBy,omitempty"`
}
