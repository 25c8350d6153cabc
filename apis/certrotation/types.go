// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package certrotation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Role of a certificate in its trust domain.
type Role string

// Roles.
const (
	RoleSigner Role = "Signer"
	RoleLeaf   Role = "Leaf"
)

// Stage of the rotation of a trust domain. It is derived from the current objects and never stored.
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

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CertificateRotation is the live state of one certificate Secret. It is computed from that Secret, has its name, and
// is read-only.
type CertificateRotation struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Spec is what the RotationConfiguration declares for this certificate.
	Spec CertificateRotationSpec
	// Status is the observed state.
	Status CertificateRotationStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CertificateRotationList is a list of CertificateRotations.
type CertificateRotationList struct {
	metav1.TypeMeta
	metav1.ListMeta
	// Items are ordered by namespace and name.
	Items []CertificateRotation
}

// CertificateRotationSpec is the place of a certificate in its trust domain.
type CertificateRotationSpec struct {
	// Role is Signer or Leaf.
	Role Role
	// TrustDomain is the name of the trust domain in the namespace's RotationConfiguration.
	TrustDomain string
	// Signer is the name of the signer's Secret.
	Signer string
	// Bundle is the name of the ConfigMap of trust anchors.
	Bundle string
	// Usages are the extended key usages of a leaf.
	Usages []string
}

// Certificate holds the public facts of a certificate.
type Certificate struct {
	// Fingerprint is the lower-case hexadecimal SHA-256 of the DER encoding.
	Fingerprint string
	// Subject is the distinguished name of the subject.
	Subject string
	// Issuer is the distinguished name of the issuer.
	Issuer string
	// SerialNumber is the serial number in lower-case hexadecimal.
	SerialNumber string
	// KeyAlgorithm is the kind and size of the key, such as ECDSA-P256.
	KeyAlgorithm string
	// NotBefore and notAfter bound the validity.
	NotBefore metav1.Time
	NotAfter  metav1.Time
	// SignedBy is the fingerprint of the CA whose key signed the certificate, if that CA is known.
	SignedBy string
}

// TrustCount counts the members that trust a CA.
type TrustCount struct {
	// Trusted is the number of members with evidence that they trust the CA.
	Trusted int32
	// Total is the number of members.
	Total int32
	// Unknown is the number of members without current evidence. Evidence is collected only while a rotation is in
	// flight.
	Unknown int32
}

// MemberWaiver is a user's decision to continue without the evidence of a member.
type MemberWaiver struct {
	// Reason that the user gave for the waiver.
	Reason string
	// WaivedBy is the user who made the waiver.
	WaivedBy string
	// Expires is when the waiver ends.
	Expires metav1.Time
}

// MemberStatus is the state of one member of a relying party.
type MemberStatus struct {
	// Party is the relying party's name.
	Party string
	// Member is the member's name.
	Member string
	// Evidence is the configured kind of evidence of the party.
	Evidence string
	// Known is true if the member has current evidence, even if that shows no trust. Evidence is renewed only while a
	// rotation is in flight, and expires otherwise.
	Known bool
	// VerifiesNothing is true if the member only presents leaves. It has no anchor to load.
	VerifiesNothing bool
	// Trusted is true if evidence shows that the member has loaded the newest CA of the trust domain.
	Trusted bool
	// Delivered is true if evidence shows that the member presents the current version of each leaf that it holds.
	Delivered bool
	// LastChange is when the evidence of the member last changed.
	LastChange *metav1.Time
	// Reason explains why no evidence is needed, for the evidence none. For other kinds it explains what the evidence
	// assumes.
	Reason string
	// Waiver that is in force for the member, if any.
	Waiver *MemberWaiver
	// Message explains why the member is not trusted or not delivered.
	Message string
}

// Blocker is something that the rotation waits for.
type Blocker struct {
	// Party and member name the member that blocks the rotation, if any.
	Party  string
	Member string
	// Object that blocks the rotation, as Kind/name, if any.
	Object string
	// Reason is a machine-readable word in CamelCase.
	Reason string
	// Message explains the blocker and names the next step.
	Message string
	// Since is when the blocker began, if known.
	Since *metav1.Time
}

// CertificateRotationStatus is the state of the certificate and, for a signer, of its rotation.
type CertificateRotationStatus struct {
	// Stage is the stage of the trust domain's rotation.
	Stage Stage
	// StageSince is when the stage began.
	StageSince *metav1.Time
	// StageDeadline is when the stage becomes overdue.
	StageDeadline *metav1.Time
	// Certificate is the leaf, or the active CA of a signer.
	Certificate *Certificate
	// Next is the CA that is being distributed and cannot sign yet.
	Next *Certificate
	// Previous are the replaced CAs. Each is kept until nothing needs it.
	Previous []Certificate
	// RotatesAt is when the certificate is due for renewal.
	RotatesAt *metav1.Time
	// Trust counts the members that have loaded the CA that they need: all members for a signer, the verifiers for a
	// leaf.
	Trust TrustCount
	// Members are the members of the relying parties.
	Members []MemberStatus
	// Blockers are what the rotation waits for.
	Blockers []Blocker
	// Conditions are Ready, Progressing, Blocked and Degraded. A signer also has the conditions of the rollout of its
	// configuration, if any.
	Conditions []metav1.Condition
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BundleStatus is the live state of one bundle of trust anchors. It is computed from the ConfigMap of the bundle, has
// its name, and is read-only.
type BundleStatus struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Spec is what the RotationConfiguration declares for this bundle.
	Spec BundleStatusSpec
	// Status is the observed state.
	Status BundleStatusStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BundleStatusList is a list of BundleStatuses.
type BundleStatusList struct {
	metav1.TypeMeta
	metav1.ListMeta
	// Items are ordered by namespace and name.
	Items []BundleStatus
}

// BundleStatusSpec is the place of a bundle in its trust domain.
type BundleStatusSpec struct {
	// TrustDomain is the name of the trust domain in the namespace's RotationConfiguration.
	TrustDomain string
	// Signer is the name of the signer's Secret.
	Signer string
}

// Anchor is one trust anchor of a bundle.
type Anchor struct {
	Certificate
	// Slot of the signer that holds the anchor: active, next or previous. An earlier CA of the signer is retired, any
	// other CA is foreign.
	Slot string
	// Leaves is the number of live leaves that chain to the anchor.
	Leaves int32
	// Trust counts the members that have loaded the anchor.
	Trust TrustCount
	// SafeToRemove is true if nothing needs the anchor.
	SafeToRemove bool
	// Reason explains why the anchor cannot be removed.
	Reason string
}

// BundleStatusStatus is the state of a bundle.
type BundleStatusStatus struct {
	// Stage is the stage of the trust domain's rotation.
	Stage Stage
	// Anchors are the trust anchors in the order of the bundle.
	Anchors []Anchor
	// Trust counts the members that have loaded the newest anchor.
	Trust TrustCount
	// Conditions are Ready, Progressing, Blocked and Degraded.
	Conditions []metav1.Condition
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RotationRequest is the body of the subresource rotate.
type RotationRequest struct {
	metav1.TypeMeta

	// Reason is recorded with the request. At most 256 characters.
	Reason string
	// Compromised is true if trust in the key must end as soon as possible.
	Compromised bool
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AbortRequest is the body of the subresource abort.
type AbortRequest struct {
	metav1.TypeMeta

	// Reason is recorded with the request. At most 256 characters.
	Reason string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// SigningRequest is the content of the subresource csr of a signer: the request for its next CA.
type SigningRequest struct {
	metav1.TypeMeta

	// Request is a PEM CERTIFICATE REQUEST. It holds no private key.
	Request string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AuthorityInstallation is the body of the subresource install of a signer.
type AuthorityInstallation struct {
	metav1.TypeMeta

	// Certificates are the CA that the signer has requested and its issuers up to the self-signed root, as PEM, in any
	// order.
	Certificates string
	// Reason is recorded with the request. At most 256 characters.
	Reason string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RotationPlan lists the steps of a rotation, in order, and what blocks them now.
type RotationPlan struct {
	metav1.TypeMeta

	// Target is the Secret that is rotated.
	Target string
	// Hash of the steps. Plans with the same hash have the same steps.
	Hash string
	// Steps are the steps of the rotation, in order.
	Steps []PlanStep
	// Blockers are what would block the rotation now.
	Blockers []Blocker
	// WouldBreak lists the leaves that verifiers would refuse if the CA were distrusted at once, each with these
	// verifiers.
	WouldBreak []string
}

// PlanStep is one step of a plan.
type PlanStep struct {
	// Stage is the stage in which the step happens.
	Stage Stage
	// Action is the write that the step makes, such as GenerateNext, PublishAnchor, IssueLeaf, Promote, RetireAnchor,
	// DestroyPrevious.
	Action string
	// Object is the object that is written, as Kind/name.
	Object string
	// WaitsFor are the members whose evidence the step needs, as PARTY/MEMBER. A member with the name of its party is
	// PARTY alone.
	WaitsFor []string
	// Message describes the step.
	Message string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Acknowledgement is the body of the subresource acknowledge of a signer. A member reports what it has loaded.
type Acknowledgement struct {
	metav1.TypeMeta

	// Party is the relying party's name.
	Party string
	// Member is the member's name. Defaults to the party's name.
	Member string
	// Trusts are the fingerprints of the anchors that the member has loaded.
	Trusts []string
	// Presents are the fingerprints of the leaves that the member presents.
	Presents []string
	// Instance identifies one process of the member. For a pod it is the UID of the pod, and the report needs the
	// token of that pod. Defaults to a value that is derived from startedAt. A member has loaded an anchor only if
	// all of its processes have.
	Instance string
	// StartedAt is when the process started.
	StartedAt metav1.MicroTime
	// ObservedAt is when the process read what it has loaded. A report that is too old, or from the future, is
	// refused.
	ObservedAt metav1.MicroTime
	// Expires is when the report stops counting, unless the process reports again. It is set in the response.
	Expires *metav1.MicroTime
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Waiver is the body of the subresource waive of a signer. The rotation in flight, or else the next one, continues
// without the evidence of one member.
type Waiver struct {
	metav1.TypeMeta

	// Party is the relying party's name.
	Party string
	// Member is the member's name. Defaults to the party's name.
	Member string
	// Reason explains why the rotation need not wait for the member. At most 256 characters.
	Reason string
	// ExpiresAfter is how long the waiver lasts, at most 720h. Zero withdraws it. Set either this or expires.
	ExpiresAfter *metav1.Duration
	// Expires is when the waiver ends. A time in the past withdraws it.
	Expires *metav1.Time
	// WaivedBy is the user who made the waiver. It is set in the response.
	WaivedBy string
}
