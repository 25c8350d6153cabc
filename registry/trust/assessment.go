// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// Stage of the rotation of a trust domain, in the order of the protocol.
type Stage string

// Stages.
const (
	Stable       Stage = "Stable"
	Distributing Stage = "Distributing"
	Reissuing    Stage = "Reissuing"
	Draining     Stage = "Draining"
	Retiring     Stage = "Retiring"
)

// Slot of a CA certificate in a trust domain.
type Slot string

// Slots. Retired is a former generation of the signer, only an anchor now. Foreign is an anchor that the signer never
// made.
const (
	SlotActive   Slot = "active"
	SlotNext     Slot = "next"
	SlotPrevious Slot = "previous"
	SlotRetired  Slot = "retired"
	SlotForeign  Slot = "foreign"
)

// Invariant is a safety rule that no action breaks and that no edit may break.
type Invariant string

// Invariants; docs/protocol.md explains them.
const (
	TrustBeforeUse   Invariant = "TrustBeforeUse"
	AnchorInUse      Invariant = "AnchorInUse"
	NeverEmpty       Invariant = "NeverEmpty"
	PairMatches      Invariant = "PairMatches"
	LeafWithinSigner Invariant = "LeafWithinSigner"
	OneRotation      Invariant = "OneRotation"
	OneAtATime       Invariant = "OneAtATime"
	Resumable        Invariant = "Resumable"
	ContentDecides   Invariant = "ContentDecides"
	NoSilentWait     Invariant = "NoSilentWait"
	// ReleasedByName: what a configuration made or adopted stays its own, and guarded, until it is released by name.
	ReleasedByName Invariant = "ReleasedByName"
)

// Assessment is the state of a Domain at one moment.
type Assessment struct {
	Stage Stage
	// StageSince is when the stage began, zero for Stable and where the content does not tell.
	StageSince time.Time
	// StageDeadline is when the stage counts as overdue, zero for Stable.
	StageDeadline time.Time
	// Newest is the CA that members are expected to trust: next if there is one, else active, nil if neither.
	Newest *pki.Certificate
	// SignerDue is when the active CA is due for rotation, zero if there is none.
	SignerDue time.Time
	// Leaves in the order of Domain.Leaves, Anchors in the order of the bundle, Members in the order of the parties.
	Leaves  []LeafAssessment
	Anchors []AnchorAssessment
	Members []MemberAssessment
	// Blockers are what the rotation waits for, empty if for nothing.
	Blockers []Blocker
	// Problems of objects and of the configuration, in a stable order.
	Problems []Problem
	// Actions that may be done now, see Action.
	Actions []Action
	// Recheck is the next moment at which time alone changes the assessment, zero if never.
	Recheck time.Time
}

// LeafAssessment is the state of one leaf.
type LeafAssessment struct {
	Name string
	// Unnamed says that the configuration does not name the leaf any more.
	Unnamed bool
	// SignedBy is the known CA that signed the leaf, nil if unknown.
	SignedBy *pki.Certificate
	// SignedBySlot of that CA, "" if unknown.
	SignedBySlot Slot
	// Due is when the leaf is due for renewal, zero if it does not exist.
	Due time.Time
	// Verifiers counts the members that verify this leaf, Trusted those of them that trust its signer. If the signer
	// is unknown, Trusted is 0.
	Trusted, Verifiers int
	// Usable says that the leaf exists, is readable, within its validity, and that its signer is in the bundle.
	Usable bool
	// Waiting says why a leaf is not (re)issued although it should be. It is nil if the leaf is fine or an action is
	// listed.
	Waiting []Blocker
}

// AnchorAssessment is the state of one anchor of the bundle.
type AnchorAssessment struct {
	Certificate *pki.Certificate
	Slot        Slot
	// Leaves is how many live leaves in Secrets chain to the anchor.
	Leaves int
	// Trusted counts the members that have loaded the anchor, Members all members.
	Trusted, Members int
	// SafeToRemove says that nothing needs the anchor. Otherwise NeededBy lists what does.
	SafeToRemove bool
	NeededBy     []string
}

// MemberAssessment is the state of one member of a relying party.
type MemberAssessment struct {
	Party, Member string
	Kind          EvidenceKind
	// Verifies says that the member verifies leaves at all.
	Verifies bool
	// Known says that there is current evidence, for or against. In the stage Stable evidence is not renewed, so
	// lapsed evidence leaves a member unknown there.
	Known bool
	// Reason why no evidence is required (kind None), or what the required evidence assumes, "" if nothing.
	Reason string
	// Waiver in force, nil if there is none.
	Waiver *Waiver
	// Trusted says that there is evidence that the member has loaded the newest CA.
	Trusted bool
	// Delivered says that there is evidence that the member presents the current content of every leaf that it holds.
	Delivered bool
	// LastChange of its observations, zero if there are none.
	LastChange time.Time
	// Message says why the member is not trusted or not delivered, "" otherwise.
	Message string
}

// InFlight reports whether a rotation is in flight.
func (a *Assessment) InFlight() bool { return a.Stage != Stable }

// ClockDoubted reports whether nothing is done because the clock is in doubt.
func (a *Assessment) ClockDoubted() bool { return a.has(ReasonClockSkewed) }

func (a *Assessment) has(reason Reason) bool {
	return slices.ContainsFunc(a.Problems, func(p Problem) bool { return p.Reason == reason })
}

// Blocked reports whether the rotation waits and the controller can do nothing. Writes that the API server refuses
// are retried, but do not count as possible.
func (a *Assessment) Blocked() bool {
	if len(a.Blockers) == 0 {
		return false
	}
	for i := range a.Actions {
		// What the issuer was asked for is waited for.
		if a.Actions[i].Kind != RequestIssuance && !a.refuses(&a.Actions[i]) {
			return false
		}
	}
	return true
}

func (a *Assessment) refuses(action *Action) bool {
	object := string(action.ObjectKind) + "/" + action.Object
	return slices.ContainsFunc(a.Blockers, func(b Blocker) bool { return b.Reason == ReasonWriteRefused && b.Object == object })
}

// ProblemOf returns the problem of an object named as Kind/name, nil if it has none.
func (a *Assessment) ProblemOf(object string) *Problem {
	for i := range a.Problems {
		if a.Problems[i].Object == object {
			return &a.Problems[i]
		}
	}
	return nil
}

// ActionKind says what an Action does.
type ActionKind string

// Action kinds. Each is exactly one write to one object.
const (
	// GenerateActive makes the first CA in the slot active. It is used only where no live leaf could be cut off.
	GenerateActive ActionKind = "GenerateActive"
	// GenerateNext makes a CA in the slot next and clears a rotation request.
	GenerateNext ActionKind = "GenerateNext"
	// RequestAuthority makes a key, and a request that its certificate be signed outside. It clears a rotation request.
	RequestAuthority ActionKind = "RequestAuthority"
	// InstallNext moves that key into the slot next, with the Certificates of the Request.
	InstallNext ActionKind = "InstallNext"
	// DropRequest destroys that key on an abort.
	DropRequest ActionKind = "DropRequest"
	// PublishAnchors writes Anchors to the bundle; it only ever adds.
	PublishAnchors ActionKind = "PublishAnchors"
	// IssueLeaf signs a new pair for the leaf Object with the CA Authority and clears a rotation request.
	IssueLeaf ActionKind = "IssueLeaf"
	// RequestIssuance asks Domain.Issuer for a new certificate in the Secret Object, which is its own.
	RequestIssuance ActionKind = "RequestIssuance"
	// UpdateLeafAnchors writes Anchors beside the leaf Object, whose certificate and key stay.
	UpdateLeafAnchors ActionKind = "UpdateLeafAnchors"
	// Promote makes next active and keeps the former active as previous.
	Promote ActionKind = "Promote"
	// RetireAnchors writes Anchors to the bundle: what is left after the unused ones are gone.
	RetireAnchors ActionKind = "RetireAnchors"
	// WriteTrustStores writes the trust stores of the bundle, whose anchors stay.
	WriteTrustStores ActionKind = "WriteTrustStores"
	// WriteKeystores writes the keystores and the trust stores of the leaf Object, whose pair and anchors stay.
	WriteKeystores ActionKind = "WriteKeystores"
	// DestroyPrevious removes the previous keys.
	DestroyPrevious ActionKind = "DestroyPrevious"
	// DropNext removes next on an abort that came in time, and clears the abort request.
	DropNext ActionKind = "DropNext"
	// ClearRequest deletes the record of a request that was answered or cannot be honoured.
	ClearRequest ActionKind = "ClearRequest"
	// DropEvidence deletes an evidence record that nothing needs any more.
	DropEvidence ActionKind = "DropEvidence"
	// RecordRoster writes Roster to its record, always before the key for which it is recorded.
	RecordRoster ActionKind = "RecordRoster"
	// RecordMetadata brings annotations and labels up to date with the content.
	RecordMetadata ActionKind = "RecordMetadata"
)

// ObjectKind is the kind of the object that an action writes.
type ObjectKind string

// Object kinds.
const (
	SecretKind    ObjectKind = "Secret"
	ConfigMapKind ObjectKind = "ConfigMap"
	RecordKind    ObjectKind = "RotationRecord"
)

// Action is one write that is safe in the assessed state. All actions of one Assessment are safe in any order, also
// when some of them fail.
type Action struct {
	Kind       ActionKind
	ObjectKind ObjectKind
	// Object is the name of the Secret or ConfigMap that is written.
	Object string
	// ResourceVersion that the decision is based on, "" if this action creates the object.
	ResourceVersion string
	// Profile of the certificate to make (GenerateActive, GenerateNext, RequestAuthority, IssueLeaf).
	Profile pki.Profile
	// From is what is taken (GenerateActive, GenerateNext, IssueLeaf), nil if it is made.
	From *Issued
	// Authority is the fingerprint of the CA that signs (IssueLeaf), or that is promoted or installed (Promote, InstallNext).
	Authority pki.Fingerprint
	// Anchors to write, in order (PublishAnchors, RetireAnchors, IssueLeaf, UpdateLeafAnchors). The trust stores are
	// made of them, also for WriteTrustStores and WriteKeystores.
	Anchors []*pki.Certificate
	// Stores are the trust stores to write with the anchors. Others that AnnotationTrustStores names are removed.
	Stores []TrustStore
	// Keystores to write with the pair (IssueLeaf, WriteKeystores). Others that AnnotationKeystores names are removed.
	Keystores []Keystore
	// Roster to write (RecordRoster).
	Roster *Roster
	// Request that is answered (ClearRequest, InstallNext). ClearRequest deletes its record if it still has that UID.
	Request *Request
	// Evidence to drop (DropEvidence). Its record is deleted if it still has that UID and resource version.
	Evidence *EvidenceRecord
	// Annotations and Labels to set (all kinds), and annotations to remove. MetadataOfSigner and MetadataOfLeaf add
	// those that derive from a certificate that the action itself makes.
	Annotations, Labels map[string]string
	RemoveAnnotations   []string
	// Irreversible actions are confirmed against live reads first.
	Irreversible bool
	// Reason for the action, for events: a full clause.
	Reason string
	// Urgent actions are exempt from the pace of reissuing.
	Urgent bool
}
