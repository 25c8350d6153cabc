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

// Stage of the rotation of a trust domain. It is derived from the current objects and never stored.
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
// +genclient:method=GetSigningRequest,verb=get,subresource=csr,result=SigningRequest
// +genclient:method=Install,verb=create,subresource=install,input=AuthorityInstallation,result=RotationPlan
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CertificateRotation is the live state of one certificate Secret. It is computed from that Secret, has its name, and
// is read-only.
type CertificateRotation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the RotationConfiguration declares for this certificate.
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
	// signedBy is the fingerprint of the CA whose key signed the certificate, if that CA is known.
	// +optional
	SignedBy string `json:"signedBy,omitempty"`
}

// TrustCount counts the members that trust a CA.
type TrustCount struct {
	// trusted is the number of members with evidence that they trust the CA.
	Trusted int32 `json:"trusted"`
	// total is the number of members.
	Total int32 `json:"total"`
	// unknown is the number of members without current evidence. Evidence is collected only while a rotation is in
	// flight.
	// +optional
	Unknown int32 `json:"unknown,omitempty"`
}

// MemberWaiver is a user's decision to continue without the evidence of a member.
type MemberWaiver struct {
	// reason that the user gave for the waiver.
	Reason string `json:"reason"`
	// waivedBy is the user who made the waiver.
	// +optional
	WaivedBy string `json:"waivedBy,omitempty"`
	// expires is when the waiver ends.
	Expires metav1.Time `json:"expires"`
}

// MemberStatus is the state of one member of a relying party.
type MemberStatus struct {
	// party is the relying party's name.
	Party string `json:"party"`
	// member is the member's name.
	Member string `json:"member"`
	// evidence is the configured kind of evidence of the party.
	Evidence string `json:"evidence"`
	// known is true if the member has current evidence, even if that shows no trust. Evidence is renewed only while a
	// rotation is in flight, and expires otherwise.
	Known bool `json:"known"`
	// verifiesNothing is true if the member only presents leaves. It has no anchor to load.
	// +optional
	VerifiesNothing bool `json:"verifiesNothing,omitempty"`
	// trusted is true if evidence shows that the member has loaded the newest CA of the trust domain.
	Trusted bool `json:"trusted"`
	// delivered is true if evidence shows that the member presents the current version of each leaf that it holds.
	Delivered bool `json:"delivered"`
	// lastChange is when the evidence of the member last changed.
	// +optional
	LastChange *metav1.Time `json:"lastChange,omitempty"`
	// reason explains why no evidence is needed, for the evidence none. For other kinds it explains what the evidence
	// assumes.
	// +optional
	Reason string `json:"reason,omitempty"`
	// waiver that is in force for the member, if any.
	// +optional
	Waiver *MemberWaiver `json:"waiver,omitempty"`
	// message explains why the member is not trusted or not delivered.
	// +optional
	Message string `json:"message,omitempty"`
}

// Blocker is something that the rotation waits for.
type Blocker struct {
	// party and member name the member that blocks the rotation, if any.
	// +optional
	Party string `json:"party,omitempty"`
	// +optional
	Member string `json:"member,omitempty"`
	// object that blocks the rotation, as Kind/name, if any.
	// +optional
	Object string `json:"object,omitempty"`
	// reason is a machine-readable word in CamelCase.
	Reason string `json:"reason"`
	// message explains the blocker and names the next step.
	Message string `json:"message"`
	// since is when the blocker began, if known.
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
	// stageDeadline is when the stage becomes overdue.
	// +optional
	StageDeadline *metav1.Time `json:"stageDeadline,omitempty"`
	// certificate is the leaf, or the active CA of a signer.
	// +optional
	Certificate *Certificate `json:"certificate,omitempty"`
	// next is the CA that is being distributed and cannot sign yet.
	// +optional
	Next *Certificate `json:"next,omitempty"`
	// previous are the replaced CAs. Each is kept until nothing needs it.
	// +optional
	// +listType=atomic
	Previous []Certificate `json:"previous,omitempty"`
	// rotatesAt is when the certificate is due for renewal.
	// +optional
	RotatesAt *metav1.Time `json:"rotatesAt,omitempty"`
	// trust counts the members that have loaded the CA that they need: all members for a signer, the verifiers for a
	// leaf.
	Trust TrustCount `json:"trust"`
	// members are the members of the relying parties.
	// +optional
	// +listType=atomic
	Members []MemberStatus `json:"members,omitempty"`
	// blockers are what the rotation waits for.
	// +optional
	// +listType=atomic
	Blockers []Blocker `json:"blockers,omitempty"`
	// conditions are Ready, Progressing, Blocked and Degraded. A signer also has the conditions of the rollout of its
	// configuration, if any.
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

	// spec is what the RotationConfiguration declares for this bundle.
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
	// slot of the signer that holds the anchor: active, next or previous. An earlier CA of the signer is retired, any
	// other CA is foreign.
	Slot string `json:"slot"`
	// leaves is the number of live leaves that chain to the anchor.
	Leaves int32 `json:"leaves"`
	// trust counts the members that have loaded the anchor.
	Trust TrustCount `json:"trust"`
	// safeToRemove is true if nothing needs the anchor.
	SafeToRemove bool `json:"safeToRemove"`
	// reason explains why the anchor cannot be removed.
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
	// compromised is true if trust in the key must end as soon as possible.
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

// SigningRequest is the content of the subresource csr of a signer: the request for its next CA.
type SigningRequest struct {
	metav1.TypeMeta `json:",inline"`

	// request is a PEM CERTIFICATE REQUEST. It holds no private key.
	Request string `json:"request"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AuthorityInstallation is the body of the subresource install of a signer.
type AuthorityInstallation struct {
	metav1.TypeMeta `json:",inline"`

	// certificates are the CA that the signer has requested and its issuers up to the self-signed root, as PEM, in any
	// order.
	Certificates string `json:"certificates"`
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
	// hash of the steps. Plans with the same hash have the same steps.
	Hash string `json:"hash"`
	// steps are the steps of the rotation, in order.
	// +listType=atomic
	Steps []PlanStep `json:"steps"`
	// blockers are what would block the rotation now.
	// +optional
	// +listType=atomic
	Blockers []Blocker `json:"blockers,omitempty"`
	// wouldBreak lists the leaves that verifiers would refuse if the CA were distrusted at once, each with these
	// verifiers.
	// +optional
	// +listType=atomic
	WouldBreak []string `json:"wouldBreak,omitempty"`
}

// PlanStep is one step of a plan.
type PlanStep struct {
	// stage is the stage in which the step happens.
	Stage Stage `json:"stage"`
	// action is the write that the step makes, such as GenerateNext, PublishAnchor, IssueLeaf, Promote, RetireAnchor,
	// DestroyPrevious.
	Action string `json:"action"`
	// object is the object that is written, as Kind/name.
	Object string `json:"object"`
	// waitsFor are the members whose evidence the step needs, as PARTY/MEMBER. A member with the name of its party is
	// PARTY alone.
	// +optional
	// +listType=atomic
	WaitsFor []string `json:"waitsFor,omitempty"`
	// message describes the step.
	Message string `json:"message"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Acknowledgement is the body of the subresource acknowledge of a signer. A member reports what it has loaded.
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
	// instance identifies one process of the member. For a pod it is the UID of the pod, and the report needs the
	// token of that pod. Defaults to a value that is derived from startedAt. A member has loaded an anchor only if
	// all of its processes have.
	// +optional
	Instance string `json:"instance,omitempty"`
	// startedAt is when the process started.
	StartedAt metav1.MicroTime `json:"startedAt"`
	// observedAt is when the process read what it has loaded. A report that is too old, or from the future, is
	// refused.
	ObservedAt metav1.MicroTime `json:"observedAt"`
	// expires is when the report stops counting, unless the process reports again. It is set in the response.
	// +optional
	Expires *metav1.MicroTime `json:"expires,omitempty"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Waiver is the body of the subresource waive of a signer. The rotation in flight, or else the next one, continues
// without the evidence of one member.
type Waiver struct {
	metav1.TypeMeta `json:",inline"`

	// party is the relying party's name.
	Party string `json:"party"`
	// member is the member's name. Defaults to the party's name.
	// +optional
	Member string `json:"member,omitempty"`
	// reason explains why the rotation need not wait for the member. At most 256 characters.
	Reason string `json:"reason"`
	// expiresAfter is how long the waiver lasts, at most 720h. Zero withdraws it. Set either this or expires.
	// +optional
	ExpiresAfter *metav1.Duration `json:"expiresAfter,omitempty"`
	// expires is when the waiver ends. A time in the past withdraws it.
	// +optional
	Expires *metav1.Time `json:"expires,omitempty"`
	// waivedBy is the user who made the waiver. It is set in the response.
	// +optional
	WaivedBy string `json:"waivedBy,omitempty"`
}
