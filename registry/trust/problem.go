// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"strings"

	"certrotation.dev/registry/pki"
)

// Reason is a word in CamelCase for conditions, events and metrics.
type Reason string

// Reasons of problems with an object or a configuration.
const (
	ReasonUnparsable         Reason = pki.ReasonUnparsable
	ReasonKeyMismatch        Reason = pki.ReasonKeyMismatch
	ReasonWrongType          Reason = "WrongType"
	ReasonNotCA              Reason = "NotCA"
	ReasonUnreadBlock        Reason = "UnreadBlock"
	ReasonEmptyBundle        Reason = "EmptyBundle"
	ReasonNodeWithoutAddress Reason = "NodeWithoutAddress"
	// ReasonAddressNotBelieved and ReasonAddressCollision are about the address that a kubelet reports for its node.
	ReasonAddressNotBelieved Reason = "AddressNotBelieved"
	ReasonAddressCollision   Reason = "AddressCollision"
	ReasonExpired            Reason = pki.ReasonExpired
	ReasonNotYetValid        Reason = pki.ReasonNotYetValid
	ReasonMissing            Reason = "Missing"
	ReasonUnknownSigner      Reason = "UnknownSigner"
	ReasonOverdue            Reason = "StageOverdue"
	ReasonClockSkewed        Reason = "ClockSkewed"
	// ReasonClockJumped are certificates that expired while the domain was not assessed for unusually long.
	ReasonClockJumped Reason = "ClockJumped"
	// ReasonDiverged is a member that was observed to trust other CAs than the domain's, with no rotation in flight.
	ReasonDiverged Reason = "Diverged"
	// ReasonImmutable and ReasonDeleting are objects that cannot be written any more.
	ReasonImmutable Reason = "Immutable"
	ReasonDeleting  Reason = "Deleting"
	// ReasonNotAdopted is an object that a configuration names and that does not consent to it.
	ReasonNotAdopted Reason = "NotAdopted"
	// ReasonOutlived is an expired CA whose key recovered members still need.
	ReasonOutlived Reason = "Outlived"
	// ReasonKeystorePassword is a leaf whose keystore cannot be written because its password cannot be read.
	ReasonKeystorePassword Reason = "KeystorePassword"
	// ReasonChosenTwice is a pod that two relying parties select to verify the same leaf.
	ReasonChosenTwice Reason = "ChosenTwice"
	// ReasonRootUnknown is an intermediate that is an anchor itself.
	ReasonRootUnknown Reason = "RootUnknown"
)

// Reasons of blockers.
const (
	ReasonAnchorNotLoaded  Reason = "AnchorNotLoaded"
	ReasonLeafNotPresented Reason = "LeafNotPresented"
	ReasonNotObserved      Reason = "NotObserved"
	ReasonGracePeriod      Reason = "GracePeriod"
	ReasonRotationQueued   Reason = "RotationQueued"
	ReasonAbortTooLate     Reason = "AbortTooLate"
	ReasonAbortRequested   Reason = "AbortRequested"
	ReasonObjectProblem    Reason = "ObjectProblem"
	ReasonNoUsableSigner   Reason = "NoUsableSigner"
	ReasonPaced            Reason = "Paced"
	ReasonNoVerifier       Reason = "NoVerifier"
	ReasonNoHolder         Reason = "NoHolder"
	ReasonUnnamed          Reason = "Unnamed"
	// ReasonNotIssued is a certificate that another issuer has not made. ReasonHeld is one that it has made of a CA that
	// verifiers lack.
	ReasonNotIssued Reason = "NotIssued"
	ReasonHeld      Reason = "Held"
	// ReasonUnfitSigner is a CA whose own extensions make verifiers refuse a leaf that it would sign.
	ReasonUnfitSigner  Reason = "UnfitSigner"
	ReasonWriteRefused Reason = "WriteRefused"
	// ReasonAuthorityRequested is a signer whose next CA is signed outside.
	ReasonAuthorityRequested Reason = "AuthorityRequested"
	// ReasonRestartHeld is a workload whose pods must restart and do not; registry/restart says why.
	ReasonRestartHeld Reason = "RestartHeld"
)

// Problem is something wrong with an object that only an operator (or another system) can fix.
type Problem struct {
	// Object as Kind/name, such as "Secret/etcd-signer".
	Object string
	Reason Reason
	// Message says what is wrong and the next step. It never quotes Secret data.
	Message string
}

// String is the text of a problem wherever it is shown.
func (p *Problem) String() string { return About(p.Object, p.Message) }

// blocks reports whether a problem keeps a rotation from beginning, or makes it wait. A node without an address, or
// with a doubtful one, affects only its own leaves, as does a password that cannot be read. Neither problems that the protocol itself repairs nor a pod that
// counts twice hold anything up.
func (p Problem) blocks() bool {
	switch p.Reason {
	case ReasonNodeWithoutAddress, ReasonAddressNotBelieved, ReasonAddressCollision, ReasonUnknownSigner, ReasonExpired, ReasonNotYetValid,
		ReasonOverdue, ReasonChosenTwice, ReasonClockJumped, ReasonUnreadBlock, ReasonKeystorePassword, ReasonRootUnknown:
		return false
	default:
		return true
	}
}

// unreadProblem reports blocks that cannot be read, nil without any.
func unreadProblem(object string, blocks []pki.UnreadBlock) *Problem {
	if len(blocks) == 0 {
		return nil
	}
	return &Problem{Object: object, Reason: ReasonUnreadBlock, Message: fmt.Sprintf(
		"holds a certificate that cannot be read (%v%s): it stays, and counts for nothing; programs written in Go skip it or refuse the whole file. "+
			"Remove the block if no program needs it", &blocks[0], more(len(blocks)-1))}
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// unwritable returns the problem of an object that cannot be written any more, nil if it can be. Writes to an object
// that is being deleted are lost with it.
func unwritable(object string, o *Object) *Problem {
	switch {
	case o.Deleting:
		return &Problem{Object: object, Reason: ReasonDeleting, Message: fmt.Sprintf(
			"%s was deleted and waits for its finalizers; it is made anew when they are gone: see metadata.finalizers", object)}
	case o.Immutable:
		return &Problem{Object: object, Reason: ReasonImmutable, Message: fmt.Sprintf(
			"%s is immutable, so it cannot be rotated: keep a copy, delete it and create it again without `immutable`", object)}
	}
	return nil
}

// Blocker is something that a rotation waits for.
type Blocker struct {
	// Party and Member that hold the rotation up, "" if no member does.
	Party, Member string
	// Object (Kind/name) that holds the rotation up, "" if no object does.
	Object string
	Reason Reason
	// Message says what is missing and the next step.
	Message string
}

// String is the text of a blocker wherever it is shown: in conditions, events, API responses and the plugin.
func (b *Blocker) String() string {
	return About(Subject(b.Party, b.Member, b.Object, string(b.Reason)), b.Message)
}

// Subject names what a blocker is about: a member, else an object, else the reason.
func Subject(party, member, object, reason string) string {
	switch {
	case party != "":
		return MemberName(party, member)
	case object != "":
		return object
	}
	return reason
}

// MemberName names a member in every text: PARTY/MEMBER, or only the party if both have the same name.
func MemberName(party, member string) string {
	if member == "" || member == party {
		return party
	}
	return party + "/" + member
}

// About prefixes a message with its subject, unless it begins with it.
func About(subject, message string) string {
	if subject == "" || strings.HasPrefix(message, subject) {
		return message
	}
	return subject + ": " + message
}

// namesOfBlockers returns the members, by MemberName, or the objects.
func namesOfBlockers(blockers []Blocker) []string {
	var out []string
	for _, b := range blockers {
		if b.Party == "" {
			out = append(out, b.Object)
			continue
		}
		out = append(out, MemberName(b.Party, b.Member))
	}
	return out
}

// untrustingNames lists, by MemberName, the members in the blockers.
func untrustingNames(blockers []Blocker) []string {
	var names []string
	for _, b := range blockers {
		if b.Party != "" {
			names = append(names, MemberName(b.Party, b.Member))
		}
	}
	return names
}

func distinct(in []Blocker) []Blocker {
	seen := make(map[Blocker]bool, len(in))
	var out []Blocker
	for _, b := range in {
		if !seen[b] {
			seen[b] = true
			out = append(out, b)
		}
	}
	return out
}
