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

// Slots. Retired is a former generation of the signer that is only an anchor any more; Foreign is an anchor that the
// signer never made.
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
	// ReleasedByName: what a configuration has made or adopted stays its own, and guarded, until it is released by name.
	ReleasedByName Invariant = "ReleasedByName"
)

// Assessment is what the model says of a Domain at one moment.
type Assessment struct {
	Stage Stage
	// StageSince is when the stage began, zero for Stable and where the content does not tell.
	StageSince time.Time
	// StageDeadline is when the stage counts as overdue, zero for Stable.
	StageDeadline time.Time
	// Newest is the CA that members are expected to trust: next if there is one, else active; nil if neither.
	Newest *pki.Certificate
	// SignerDue is when the active CA is due for rotation, zero if there is none.
	SignerDue time.Time
	// Leaves in the order of Domain.Leaves, Anchors in the order of the bundle, Members in the order of the parties.
	Leaves  []LeafAssessment
	Anchors []AnchorAssessment
	Members []MemberAssessment
	// Blockers are what the rotation waits for; empty when nothing is waited for.
	Blockers []Blocker
	// Problems of objects and of the configuration, in a stable order.
	Problems []Problem
	// Actions that may be done now, see Action.
	Actions []Action
	// Recheck is the next moment at which time alone changes the assessment, zero if never.
	Recheck time.Time
}

// LeafAssessment is what the model says of one leaf.
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
	// Trusted and Verifiers count the members that verify this leaf, and those that trust its signer. Where the signer
	// is unknown nobody trusts it.
	Trusted, Verifiers int
	// Usable says that the leaf exists, is readable, within its validity, and that its signer is in the bundle.
	Usable bool
	// Waiting says why the leaf is not (re)issued although it should be; nil if it is fine or an action is listed.
	Waiting []Blocker
}

// AnchorAssessment is what the model says of one anchor of the bundle.
type AnchorAssessment struct {
	Certificate *pki.Certificate
	Slot        Slot
	// Leaves is how many live leaves in Secrets chain to the anchor.
	Leaves int
	// Trusted and Members count the members that have loaded the anchor, and all members.
	Trusted, Members int
	// SafeToRemove says that nothing needs the anchor. NeededBy says what does otherwise.
	SafeToRemove bool
	NeededBy     []string
}

// MemberAssessment is what the model says of one member of a relying party.
type MemberAssessment struct {
	Party, Member string
	Kind          EvidenceKind
	// Verifies says that the member verifies leaves at all.
	Verifies bool
	// Known says that there is current evidence, of whatever it says. In the stage Stable nobody renews evidence, so that
	// what has lapsed is not known there.
	Known bool
	// Reason why the operator asks for no evidence (kind None), or what is assumed by the evidence that is asked for, "" if nothing.
	Reason string
	// Waiver that is in force, nil if there is none.
	Waiver *Waiver
	// Trusted says that there is evidence that the member has loaded the newest CA.
	Trusted bool
	// Delivered says that there is evidence that it presents the current content of every leaf that it holds.
	Delivered bool
	// LastChange of its observation, zero if there is none.
	LastChange time.Time
	// Message says why not trusted or not delivered, "" otherwise.
	Message string
}

// InFlight says whether a rotation is under way.
func (a *Assessment) InFlight() bool { return a.Stage != Stable }

// ClockDoubted says whether nothing is done because the clock is not believed.
func (a *Assessment) ClockDoubted() bool { return a.has(ReasonClockSkewed) }

// has says whether there is a problem for that reason.
func (a *Assessment) has(reason Reason) bool {
	return slices.ContainsFunc(a.Problems, func(p Problem) bool { return p.Reason == reason })
}

// Blocked says whether the rotation waits and nothing can be done by the controller. What the API server refuses is
// tried again, but cannot be done.
func (a *Assessment) Blocked() bool {
	if len(a.Blockers) == 0 {
		return false
	}
	for i := range a.Actions {
		if !a.refuses(&a.Actions[i]) {
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
