// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

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

// Invariants; see the table in design.md section 4.
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
