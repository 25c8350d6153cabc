// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "strings"

// Reason is a word in CamelCase for conditions, events and metrics.
type Reason string

// Reasons of problems with an object or a configuration.
const (
	ReasonUnparsable         Reason = "Unparsable"
	ReasonKeyMismatch        Reason = "KeyMismatch"
	ReasonWrongType          Reason = "WrongType"
	ReasonNotCA              Reason = "NotCA"
	ReasonEmptyBundle        Reason = "EmptyBundle"
	ReasonNodeWithoutAddress Reason = "NodeWithoutAddress"
	// ReasonAddressNotBelieved and ReasonAddressCollision are about what a kubelet reports as the address of its node.
	ReasonAddressNotBelieved Reason = "AddressNotBelieved"
	ReasonAddressCollision   Reason = "AddressCollision"
	ReasonExpired            Reason = "Expired"
	ReasonMissing            Reason = "Missing"
	ReasonUnknownSigner      Reason = "UnknownSigner"
	ReasonOverdue            Reason = "StageOverdue"
	ReasonClockSkewed        Reason = "ClockSkewed"
	// ReasonDiverged is a member that was seen to trust other CAs than the domain says, with no rotation in flight.
	ReasonDiverged Reason = "Diverged"
	// ReasonImmutable and ReasonDeleting are objects that cannot be written any more.
	ReasonImmutable Reason = "Immutable"
	ReasonDeleting  Reason = "Deleting"
	// ReasonNotAdopted is an object that a configuration names and that does not consent to it.
	ReasonNotAdopted Reason = "NotAdopted"
	// ReasonOutlived is an expired CA whose key members that were recovered still need.
	ReasonOutlived Reason = "Outlived"
)

// Reasons of blockers.
const (
	ReasonAnchorNotLoaded  Reason = "AnchorNotLoaded"
	ReasonLeafNotPresented Reason = "LeafNotPresented"
	ReasonNotObserved      Reason = "NotObserved"
	ReasonGracePeriod      Reason = "GracePeriod"
	ReasonRotationQueued   Reason = "RotationQueued"
	ReasonAbortTooLate     Reason = "AbortTooLate"
	ReasonObjectProblem    Reason = "ObjectProblem"
	ReasonNoUsableSigner   Reason = "NoUsableSigner"
	ReasonPaced            Reason = "Paced"
	ReasonNoVerifier       Reason = "NoVerifier"
	ReasonNoHolder         Reason = "NoHolder"
	ReasonUnnamed          Reason = "Unnamed"
	ReasonWriteRefused     Reason = "WriteRefused"
)

// Problem is something wrong with an object that only a person (or another system) can put right.
type Problem struct {
	// Object as Kind/name, such as "Secret/etcd-signer".
	Object string
	Reason Reason
	// Message says what is wrong and the next step. It never quotes Secret data.
	Message string
}

// String is the text of a problem wherever it is shown.
func (p *Problem) String() string { return About(p.Object, p.Message) }

// holds says whether a rotation must not begin, and waits, while the problem lasts. A node without an address, or with a doubtful one, concerns
// only its own leaves, and what the protocol itself repairs holds nothing up.
func (p Problem) holds() bool {
	switch p.Reason {
	case ReasonNodeWithoutAddress, ReasonAddressNotBelieved, ReasonAddressCollision, ReasonUnknownSigner, ReasonExpired, ReasonOverdue:
		return false
	default:
		return true
	}
}

// Blocker is something that a rotation waits for.
type Blocker struct {
	// Party and Member that hold the rotation up, "" if it is not a member.
	Party, Member string
	// Object (Kind/name) that holds the rotation up, "" if it is not an object.
	Object string
	Reason Reason
	// Message says what is missing and the next step.
	Message string
}

// String is the text of a blocker wherever it is shown: in conditions, events, answers of the API and the plugin.
func (b *Blocker) String() string {
	return About(Subject(b.Party, b.Member, b.Object, string(b.Reason)), b.Message)
}

// Subject names whom or what a blocker is about: a member, else an object, else the reason.
func Subject(party, member, object, reason string) string {
	switch {
	case party != "":
		return MemberName(party, member)
	case object != "":
		return object
	}
	return reason
}

// MemberName is PARTY/MEMBER, or the party alone where its member has its name.
func MemberName(party, member string) string {
	if member == "" || member == party {
		return party
	}
	return party + "/" + member
}

// About puts a subject in front of a message that does not begin with it.
func About(subject, message string) string {
	if subject == "" || strings.HasPrefix(message, subject) {
		return message
	}
	return subject + ": " + message
}
