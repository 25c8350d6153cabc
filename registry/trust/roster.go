// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"time"
)

// RequestKind says what is asked for.
type RequestKind string

// Request kinds.
const (
	RequestRotate RequestKind = "Rotate"
	RequestAbort  RequestKind = "Abort"
)

// Request is what somebody has asked for. It is answered once: the write that answers it names it on the Secret
// (AnnotationAnswered), and then its record is deleted.
type Request struct {
	// ID is the UID of the record, and Record its name.
	ID, Record string
	Kind       RequestKind
	// Secret that it is about.
	Secret string
	// Reason, for people.
	Reason string
	// Compromised says that the key must not be trusted any longer than needed.
	Compromised bool
}

// Roster is who counts, as it was recorded. It grows freely. A member leaves it by proof of absence only, and who is to be
// passed over all the same has a Waiver.
type Roster struct {
	// ResourceVersion of the record.
	ResourceVersion string
	// Signers are the names of the Secrets that were the signer of the domain, ordered: their CAs are its own.
	Signers []string
	// Members ordered by party and member.
	Members []RosterMember
	// Leaves are the names of the leaf Secrets, ordered.
	Leaves []string
}

// RosterMember is one member as it counts.
type RosterMember struct {
	Party, Member string
	// Instance is that of the Member.
	Instance string
	Kind     EvidenceKind
	// Grace of the Party.
	Grace time.Duration
	// Verifies and Presents are names of leaves.
	Verifies, Presents []string
	// VerifiesNothing is that of the Party.
	VerifiesNothing bool
	// Started says that the member may be running: its leaves were issued once, or it was seen.
	Started bool
	// Absent is the proof that the member is gone, "" if there is none. It is void once the configuration names the member.
	Absent string
	// Observations are those of the member, as in Member. They are no part of the record.
	Observations []Observation
}

// Waiver has a rotation go on without the evidence of one member, by the decision of a person.
type Waiver struct {
	Party, Member string
	Reason        string
	By            string
	Expires       time.Time
}

// RefusedWrite is a write that the API server refuses to the controller.
type RefusedWrite struct {
	// Object as Kind/name.
	Object string
	// Verb of the request, and the answer to it.
	Verb, Answer string
	Since        time.Time
}
