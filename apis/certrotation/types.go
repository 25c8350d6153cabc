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

// Stage of the rotation of a trust domain. It is derived from content on every look and never stored.
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

// CertificateRotation is the live state of one certificate Secret. It is computed, has the name of its Secret, and
// cannot be written.
type CertificateRotation struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Spec is what the configuration says of this certificate.
	Spec CertificateRotationSpec
	// Status is what is.
	Status CertificateRotationStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// CertificateRotationList is a list of CertificateRotations.
type CertificateRotationList struct {
	metav1.TypeMeta
	metav1.ListMeta
	// Items in the order of their namespaces and names.
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
	// Usages of a leaf.
	Usages []string
}

// Certificate are the public facts of a certificate.
type Certificate struct {
	// Fingerprint is the lower-case hexadecimal SHA-256 of the DER encoding.
	Fingerprint string
	// Subject distinguished name.
	Subject string
	// Issuer distinguished name.
	Issuer string
	// SerialNumber in lower-case hexadecimal.
	SerialNumber string
	// KeyAlgorithm such as ECDSA-P256.
	KeyAlgorithm string
	// NotBefore and notAfter bound the validity.
	NotBefore metav1.Time
	NotAfter  metav1.Time
	// SignedBy is the fingerprint of the CA whose key made the signature, when that CA is known.
	SignedBy string
}

// TrustCount counts the members that trust what they must trust.
type TrustCount struct {
	// Trusted members.
	Trusted int32
	// Total members.
	Total int32
	// Unknown members: there is no current evidence of them, and nobody asks for it while no rotation is in flight.
	Unknown int32
}

// MemberWaiver is the decision of a person to go on without the evidence of a member.
type MemberWaiver struct {
	// Reason that was given.
	Reason string
	// WaivedBy is the user who decided.
	WaivedBy string
	// Expires is when the waiver ends.
	Expires metav1.Time
}

// MemberStatus is what is known of one member of a relying party.
type MemberStatus struct {
	// Party is the relying party's name.
	Party string
	// Member of the party.
	Member string
	// Evidence is the kind of proof that the party is configured with.
	Evidence string
	// Known says whether there is current evidence of the member, of whatever it says. While no rotation is in flight
	// evidence is not renewed, and what has lapsed is not known.
	Known bool
	// VerifiesNothing says that the member only presents leaves: there is nothing that it has to load.
	VerifiesNothing bool
	// Trusted says whether there is evidence that the member has loaded the newest CA of the domain.
	Trusted bool
	// Delivered says whether there is evidence that the member presents the current leaves that it holds.
	Delivered bool
	// LastChange is when the observation last changed.
	LastChange *metav1.Time
	// Reason why no evidence is needed, for the evidence none.
	Reason string
	// Waiver that is in force.
	Waiver *MemberWaiver
	// Message says why not, if so.
	Message string
}

// Blocker is something that the rotation waits for.
type Blocker struct {
	// Party and member that hold the rotation up, if any.
	Party  string
	Member string
	// Object that holds the rotation up, as kind/name, if any.
	Object string
	// Reason is a word in CamelCase.
	Reason string
	// Message is for people and names the next step.
	Message string
	// Since is when it began, if that is known.
	Since *metav1.Time
}

// CertificateRotationStatus is the state of the certificate and, for a signer, of its rotation.
type CertificateRotationStatus struct {
	// Stage of the trust domain's rotation.
	Stage Stage
	// StageSince is when the stage began.
	StageSince *metav1.Time
	// StageDeadline is when the stage counts as overdue.
	StageDeadline *metav1.Time
	// Certificate is the leaf, or the active CA of a signer.
	Certificate *Certificate
	// Next is the CA that is being distributed and cannot sign yet.
	Next *Certificate
	// Previous are the CAs that were replaced and are kept until nothing needs them.
	Previous []Certificate
	// RotatesAt is when the certificate is due.
	RotatesAt *metav1.Time
	// Trust counts the members that have loaded the CA that they need: for a signer every member, for a leaf those that
	// verify it.
	Trust TrustCount
	// Members of the relying parties.
	Members []MemberStatus
	// Blockers are what the rotation waits for.
	Blockers []Blocker
	// Conditions are Ready, Progressing, Blocked and Degraded. Behind them a signer has those of the rollout of its
	// configuration, if there is one.
	Conditions []metav1.Condition
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BundleStatus is the live state of one bundle of trust anchors. It is computed, has the name of its ConfigMap, and
// cannot be written.
type BundleStatus struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	// Spec is what the configuration says of this bundle.
	Spec BundleStatusSpec
	// Status is what is.
	Status BundleStatusStatus
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// BundleStatusList is a list of BundleStatuses.
type BundleStatusList struct {
	metav1.TypeMeta
	metav1.ListMeta
	// Items in the order of their namespaces and names.
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
	// Slot of the signer that the anchor comes from: active, next, previous, retired (a former generation
	// of this signer) or foreign.
	Slot string
	// Leaves is how many live leaves chain to the anchor.
	Leaves int32
	// Trust counts the members that have loaded the anchor.
	Trust TrustCount
	// SafeToRemove says whether nothing needs the anchor.
	SafeToRemove bool
	// Reason why the anchor cannot be removed.
	Reason string
}

// BundleStatusStatus is the state of a bundle.
type BundleStatusStatus struct {
	// Stage of the trust domain's rotation.
	Stage Stage
	// Anchors of the bundle, in its order.
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

	// Reason is recorded with the request, for people. At most 256 characters.
	Reason string
	// Compromised says that the key must not be trusted any longer than needed.
	Compromised bool
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// AbortRequest is the body of the subresource abort.
type AbortRequest struct {
	metav1.TypeMeta

	// Reason is recorded with the request, for people. At most 256 characters.
	Reason string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// RotationPlan are the steps of a rotation, in order, and what blocks them now.
type RotationPlan struct {
	metav1.TypeMeta

	// Target is the Secret that is rotated.
	Target string
	// Hash over the steps; the plan shown and the plan executed have the same hash.
	Hash string
	// Steps in order.
	Steps []PlanStep
	// Blockers that are known now.
	Blockers []Blocker
	// WouldBreak lists the leaves, with those who verify them, that would be refused if the CA were distrusted at once
	// instead.
	WouldBreak []string
}

// PlanStep is one step of a plan.
type PlanStep struct {
	// Stage in which the step happens.
	Stage Stage
	// Action such as GenerateNext, PublishAnchor, IssueLeaf, Promote, RetireAnchor, DestroyPrevious.
	Action string
	// Object that is written, as kind/name.
	Object string
	// WaitsFor are the members (party/member) whose evidence the step needs.
	WaitsFor []string
	// Message for people.
	Message string
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Acknowledgement is the body of the subresource acknowledge of a signer: a member reports what it has loaded.
type Acknowledgement struct {
	metav1.TypeMeta

	// Party is the relying party's name.
	Party string
	// Member of the party. Defaults to the party's name.
	Member string
	// Trusts are the fingerprints of the anchors that the member has loaded.
	Trusts []string
	// Presents are the fingerprints of the leaves that the member presents.
	Presents []string
	// Instance identifies the process among those of the member, such as the UID of its pod. Defaults to one that is derived
	// from startedAt. The member counts as far as all of its processes do.
	Instance string
	// StartedAt is when the process started.
	StartedAt metav1.MicroTime
	// ObservedAt is when the process has looked at what it has loaded. A report of long ago, or of the future, is refused.
	ObservedAt metav1.MicroTime
	// Expires is when the report ceases to count unless the process reports again. It is set in the answer.
	Expires *metav1.MicroTime
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// Waiver is the body of the subresource waive of a signer: rotations of its trust domain go on without the evidence of one
// member.
type Waiver struct {
	metav1.TypeMeta

	// Party is the relying party's name.
	Party string
	// Member of the party. Defaults to the party's name.
	Member string
	// Reason why the member need not be waited for. At most 256 characters.
	Reason string
	// ExpiresAfter is how long the waiver lasts, at most 720h. Zero withdraws it. Either this or expires is set.
	ExpiresAfter *metav1.Duration
	// Expires is when the waiver ends. A time in the past withdraws it.
	Expires *metav1.Time
	// WaivedBy is the user who decided. It is set in the answer.
	WaivedBy string
}
