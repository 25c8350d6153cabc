// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	// ReasonChosenTwice is a pod that two relying parties select to verify the same leaf.
	ReasonChosenTwice Reason = "ChosenTwice"
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
	// ReasonUnfitSigner is a CA whose own extensions make verifiers refuse a leaf that it would sign.
	ReasonUnfitSigner  Reason = "UnfitSigner"
	ReasonWriteRefused Reason = "WriteRefused"
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
// with a doubtful one, affects only its own leaves. Neither problems that the protocol itself repairs nor a pod that
// counts twice hold anything up.
func (p Problem) blocks() bool {
	switch p.Reason {
	case ReasonNodeWithoutAddress, ReasonAddressNotBelieved, ReasonAddressCollision, ReasonUnknownSigner, ReasonExpired, ReasonNotYetValid,
		ReasonOverdue, ReasonChosenTwice, ReasonClockJumped:
		return false
	default:
		return true
	}
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

// problems collects what is wrong with the objects of the domain: those that cannot be read, and those that cannot do
// their work.
func (a *assessor) problems() []Problem {
	d := a.d
	var out []Problem
	add := func(p *Problem) {
		if p != nil {
			out = append(out, *p)
		}
	}
	add(a.clockProblem())
	add(unwritable(secret(d.Signer.Name), &d.Signer.Object))
	add(unwritable(configMap(d.Bundle.Name), &d.Bundle.Object))
	add(d.Signer.Problem)
	if d.Signer.Problem == nil {
		if outlived := a.outlivedProblem(); outlived != nil {
			add(outlived)
		} else {
			add(a.expired(secret(d.Signer.Name), d.Signer.Active, "a new CA is made and every leaf is reissued"))
		}
	}
	add(a.jumpProblem())
	add(d.Bundle.Problem)
	add(d.RosterProblem)
	out = append(out, a.diverged()...)
	out = append(out, d.twiceChosen()...)
	for i := range d.Leaves {
		l := &d.Leaves[i]
		if !l.Unnamed {
			// Unnamed leaves are not issued, and may be immutable copies that pods mount.
			add(unwritable(secret(l.Name), &l.Object))
		}
		add(l.Problem)
		if l.Problem == nil && l.Certificate != nil && a.early(l.Certificate) {
			add(&Problem{
				Object: secret(l.Name), Reason: ReasonNotYetValid,
				Message: fmt.Sprintf("is not valid before %s; it is reissued by %s", l.Certificate.NotBefore.UTC().Format(time.RFC3339), secret(d.Signer.Name)),
			})
		}
		if l.Problem == nil && l.Certificate != nil && a.signers[l.Name] == nil {
			add(&Problem{
				Object: secret(l.Name), Reason: ReasonUnknownSigner,
				Message: fmt.Sprintf("is signed by no CA that this trust domain knows (issuer %s); it is reissued by %s",
					l.Certificate.Issuer, secret(d.Signer.Name)),
			})
		}
	}
	return append(out, d.Problems...)
}

func (a *assessor) expired(object string, c *pki.Certificate, next string) *Problem {
	if c == nil || !c.Expired(a.now) {
		return nil
	}
	return &Problem{
		Object: object, Reason: ReasonExpired,
		Message: fmt.Sprintf("expired at %s; %s", c.NotAfter.UTC().Format(time.RFC3339), next),
	}
}

// diverged returns the members that trust other CAs than the domain's though no rotation is in flight. The Secrets
// may be older than the processes, as after a restore of the cluster, or a process may come from an older disk.
func (a *assessor) diverged() []Problem {
	if !a.unrotated {
		return nil
	}
	var out []Problem
	for p, m := range each(a.parties) {
		if !p.VerifiesNothing && a.denies(p, m, a.d.Signer.Active) {
			out = append(out, Problem{
				Object: secret(a.d.Signer.Name), Reason: ReasonDiverged, Message: MemberName(p.Name, m.Name) + " " + divergence(a.d.Signer.Active),
			})
		}
	}
	return out
}

func (a *assessor) overdue(out *Assessment) []Problem {
	if out.StageDeadline.IsZero() || out.StageDeadline.After(a.now) {
		return nil
	}
	return []Problem{{
		Object: secret(a.d.Signer.Name), Reason: ReasonOverdue,
		Message: fmt.Sprintf("the stage %s began at %s and was expected to end by %s; see the blockers",
			out.Stage, out.StageSince.UTC().Format(time.RFC3339), out.StageDeadline.UTC().Format(time.RFC3339)),
	}}
}

// maxClockSkew is how far a clock may be off before no decision is based on it. A clock may be ahead only by the
// backdate of certificates: other machines would not accept its certificates yet. minClockSkew is always allowed, as
// a comparison of clocks may be off by that much.
const (
	maxClockSkew = 10 * time.Minute
	minClockSkew = time.Minute
)

func (a *assessor) mostAhead() time.Duration {
	most := min(maxClockSkew, a.d.Signer.Policy.Profile.Backdate)
	for i := range a.d.Leaves {
		most = min(most, a.d.Leaves[i].Policy.Profile.Backdate)
	}
	return max(most, minClockSkew)
}

// clockProblem reports that the clock is in doubt: it is far from the API server's, or before the beginning of a CA
// of this domain. With such a clock nothing is made or retired, as everything might look expired, or new. The message
// omits the time of the clock, so that it stays the same each time.
func (a *assessor) clockProblem() *Problem {
	if p := a.skewProblem(); p != nil {
		return p
	}
	s := &a.d.Signer
	object := secret(s.Name)
	const doubt = "; nothing is issued or retired until it is not. If the clock is right now, and was ahead then, "
	anew := doubt + "delete " + object + ": a new CA is made, and distributed before it signs"
	for _, ca := range s.slots() {
		if a.tooEarly(ca) && !a.takenBack(ca) {
			return &Problem{Object: object, Reason: ReasonClockSkewed, Message: fmt.Sprintf("the clock is before the beginning of %s%s", ca.Subject, anew)}
		}
	}
	// Without a time an anchor counts as not published, so no wait gets shorter.
	again := fmt.Sprintf("%sremove the annotation %s from %s: the times are recorded again", doubt, AnnotationPublished, configMap(a.d.Bundle.Name))
	for _, record := range []struct {
		at  time.Time
		way string
	}{{a.promotedAt(), anew}, {a.latestPublication(), again}} {
		if a.ahead(record.at) {
			return &Problem{Object: object, Reason: ReasonClockSkewed, Message: fmt.Sprintf(
				"the clock is before %s, when something was recorded in this trust domain%s", record.at.UTC().Format(time.RFC3339), record.way)}
		}
	}
	return nil
}

func (a *assessor) skewProblem() *Problem {
	skew := a.d.ClockSkew
	if skew >= -maxClockSkew && (skew <= minClockSkew || skew <= a.mostAhead()) {
		return nil
	}
	return &Problem{Object: secret(a.d.Signer.Name), Reason: ReasonClockSkewed, Message: fmt.Sprintf(
		"the controller's clock differs from the API server's by %s; nothing is issued or retired until the clocks agree", skew.Round(time.Second))}
}

// promotedAt returns when the active CA was promoted, zero if that is not recorded.
func (a *assessor) promotedAt() time.Time {
	at, err := time.Parse(time.RFC3339, a.d.Signer.Annotations[AnnotationPromotedAt])
	if err != nil {
		return time.Time{}
	}
	return at
}

// latestPublication returns the last recorded publication of an anchor. It ignores an anchor that is not valid yet
// and is retired or taken back: a clock that was ahead made it and its record.
func (a *assessor) latestPublication() time.Time {
	var latest time.Time
	for _, ca := range a.d.Bundle.Anchors {
		ahead := a.early(ca) && (a.slot(ca) == SlotRetired || a.takenBack(ca))
		if at := a.published[ca.Fingerprint]; at.After(latest) && !ahead {
			latest = at
		}
	}
	return latest
}

// outlived returns the members, by MemberName, that present a working leaf although the active CA and every leaf in a
// Secret have expired. `certrotation recover` leaves that behind until the manifests that it wrote are applied. Those
// leaves need the key of the active CA. until is when the last of them ends.
//
// Only probes count. Reports are as old as the process that made them. The revision of a static pod does not tell, as
// a recovery is no revision.
func (a *assessor) outlived() (members []string, until time.Time) {
	unexpired := func(l Leaf) bool { return l.Certificate != nil && !l.Certificate.Expired(a.now) }
	if active := a.d.Signer.Active; active == nil || !active.Expired(a.now) || slices.ContainsFunc(a.d.Leaves, unexpired) {
		return nil, time.Time{}
	}
	for p, m := range each(a.parties) {
		last := m.recoveredUntil()
		if p.Kind != TLSProbe || last.IsZero() || last.Before(a.now) {
			continue
		}
		members = append(members, MemberName(p.Name, m.Name))
		if last.After(until) {
			until = last
		}
	}
	slices.Sort(members)
	return members, until
}

// recoveredUntil returns when the last recovered leaf ends that a process of the member was observed to present. The
// age of the observation does not matter: the leaf has its own end.
func (m *Member) recoveredUntil() time.Time {
	var last time.Time
	for i := range m.Observations {
		if until := m.Observations[i].RecoveredUntil; until.After(last) {
			last = until
		}
	}
	return last
}

// outlivedProblem reports that nothing is done, as a new CA would destroy the key that working leaves need.
func (a *assessor) outlivedProblem() *Problem {
	members, until := a.outlived()
	if len(members) == 0 {
		return nil
	}
	object := secret(a.d.Signer.Name)
	return &Problem{Object: object, Reason: ReasonOutlived, Message: fmt.Sprintf(
		"has expired, as has every leaf in a Secret, but %s present leaves of its key that are valid until %s, so they were recovered; "+
			"nothing is done, as a new CA would destroy the key that they need: apply the manifests that `certrotation recover` wrote "+
			"to its --output-dir on every node, or delete %s if these members may be cut off",
		strings.Join(members, ", "), until.UTC().Format(time.RFC3339), object)}
}
