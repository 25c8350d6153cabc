// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"
)

// Assess derives the stage, blockers and next actions of a domain at one moment.
func Assess(d *Domain, now time.Time) *Assessment { return decide(d, now).assessment() }

func decide(d *Domain, now time.Time) *decision {
	facts := newFacts(d, now)
	roster := newRoster(facts)
	proofs := newProofs(roster)
	return newDecision(proofs)
}

// decision is the stage and what follows from it: the last step of an assessment.
type decision struct {
	*proofs
	stage Stage
}

func newDecision(p *proofs) *decision { return &decision{proofs: p, stage: p.deriveStage()} }

func (a *decision) assessment() *Assessment {
	out := &Assessment{
		Stage: a.stage, Newest: a.newest(), SignerDue: a.signerDue(), Anchors: a.assessAnchors(), Members: a.assessMembers(),
	}
	var due []Action
	out.Leaves, due = a.assessLeaves()
	out.StageSince, out.StageDeadline = a.stageTimes()
	out.Problems = append(a.problems(), a.overdue(out)...)
	turn := a.pace(due)
	out.Actions = consenting(newChoice(a).actions(out, turn.actions), a.d.Configuration)
	out.Blockers = a.blockers(out, &turn)
	out.Recheck = a.recheck(out, &turn)
	return out
}

func (a *decision) assessAnchors() []AnchorAssessment {
	out := make([]AnchorAssessment, 0, len(a.d.Bundle.Anchors))
	for _, ca := range a.d.Bundle.Anchors {
		aa := AnchorAssessment{Certificate: ca, Slot: a.slot(ca)}
		aa.Leaves = a.liveUnder(ca)
		aa.Trusted, aa.Members = a.countTrust(a.parties, ca)
		aa.NeededBy = a.neededBy(ca)
		aa.SafeToRemove = len(aa.NeededBy) == 0
		out = append(out, aa)
	}
	return out
}

func (a *decision) assessLeaves() (out []LeafAssessment, due []Action) {
	out = make([]LeafAssessment, 0, len(a.d.Leaves))
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		la := LeafAssessment{Name: l.Name, SignedBy: a.signers[l.Name]}
		la.Trusted, la.Verifiers = a.countTrust(a.verifiers[l.Name], la.SignedBy)
		if la.SignedBy != nil {
			la.SignedBySlot = a.slot(la.SignedBy)
		}
		if l.Certificate != nil {
			if l.Issued == nil {
				la.Due = a.due(&l.Object, l.Certificate, l.Policy)
			}
			la.Usable = l.Problem == nil && l.Certificate.ValidAt(a.now) &&
				la.SignedBy != nil && a.anchored(la.SignedBy)
		}
		la.Unnamed = l.Unnamed
		issue, waiting := a.issue(l)
		if issue != nil {
			due = append(due, *issue)
		}
		la.Waiting = waiting
		out = append(out, la)
	}
	return out, due
}

// assessMembers returns the state of each member, once, in the order of the parties.
func (a *decision) assessMembers() []MemberAssessment {
	n := 0
	for _, p := range a.parties {
		n += len(p.Members)
	}
	out, twice := slices.Grow([]MemberAssessment(nil), n), repeated(a.parties)
	at := map[memberKey]int{}
	for p, m := range each(a.parties) {
		ma := a.assessMember(p, m)
		ma.Known = ma.Known || a.stage != Stable
		if !twice[p.Name] {
			out = append(out, ma)
			continue
		}
		key := memberKey{p.Name, m.Name}
		if k, twice := at[key]; twice {
			out[k] = ma.and(out[k])
			continue
		}
		at[key] = len(out)
		out = append(out, ma)
	}
	return out
}

func (a *decision) assessMember(p *Party, m *Member) MemberAssessment {
	ma := MemberAssessment{
		Party: p.Name, Member: m.Name, Kind: p.Kind, Reason: p.assumption(),
		Verifies: !p.VerifiesNothing, Waiver: a.waiver(p, m), Known: !p.Kind.observed(),
	}
	for _, o := range a.observations[m] {
		ma.Known = true
		if o.ObservedAt.After(ma.LastChange) {
			ma.LastChange = o.ObservedAt
		}
	}
	delivery := a.deliversAll(p, m)
	ma.Delivered, ma.Message = delivery.proven, delivery.message
	if newest := a.newest(); newest != nil && ma.Verifies {
		trust := a.trusts(p, m, newest)
		ma.Trusted = trust.proven
		if !trust.proven {
			ma.Message = trust.message
		}
	}
	return ma
}

// and combines two assessments of a member that needs two kinds of evidence.
func (m MemberAssessment) and(other MemberAssessment) MemberAssessment {
	if other.Message == "" {
		other.Message = m.Message
	}
	other.Trusted, other.Delivered = other.Trusted && m.Trusted, other.Delivered && m.Delivered
	other.Known, other.Verifies = other.Known && m.Known, other.Verifies || m.Verifies
	return other
}

// deriveStage derives the stage of the rotation from content and proofs.
func (a *proofs) deriveStage() Stage {
	s := &a.d.Signer
	switch {
	case s.Next != nil:
		if a.liveUnder(s.Next) > 0 {
			return Reissuing
		}
		return Distributing
	case s.Active == nil:
		if a.anyLive() {
			return Distributing
		}
		return Stable
	case a.unproven():
		return Distributing
	case a.leavesBehind():
		return Reissuing
	case len(a.former)+len(s.Previous) == 0:
		return Stable
	}
	for _, ca := range a.former {
		if len(a.neededBy(ca)) > 0 {
			return Draining
		}
	}
	return Retiring
}

// unproven reports whether the active CA was put in its place before any member trusts it. An operator or an issuer
// that replaces a CA in one write does that.
func (a *proofs) unproven() bool {
	s := &a.d.Signer
	if a.valid == 0 || a.borneBy(s.Active) > 0 {
		return false
	}
	return !a.anchored(s.Active) || len(a.waitsForAll(s.Active)) > 0
}

// stageSince derives when a stage began from the certificates, zero where they do not tell.
func (a *decision) stageSince() time.Time {
	s := &a.d.Signer
	switch a.stage {
	case Distributing, Reissuing:
		newest := a.newest()
		if newest == nil {
			return time.Time{}
		}
		since := newest.NotBefore.Add(s.backdate())
		if promoted := a.promotedAt(); a.stage == Reissuing && s.Next == nil && promoted.After(since) {
			return promoted
		}
		return since
	case Draining, Retiring:
		return a.latestIssue()
	case Stable:
	}
	return time.Time{}
}

// stageTimes returns when a stage began, and when it counts as overdue, zero for Stable and where the content does
// not tell.
func (a *decision) stageTimes() (since, deadline time.Time) {
	if since = a.stageSince(); !since.IsZero() && a.d.StageDeadline > 0 {
		deadline = since.Add(a.d.StageDeadline)
	}
	return since, deadline
}

// recheck returns the next moment at which time alone changes the assessment, zero if never.
func (a *decision) recheck(out *Assessment, turn *turn) time.Time {
	m := a.until
	for i := range out.Leaves {
		m.add(out.Leaves[i].Due)
	}
	m.add(out.SignerDue)
	m.add(out.StageDeadline)
	m.add(turn.next)
	for _, r := range a.ownerless() {
		m.add(r.Expires)
	}
	return m.next
}
