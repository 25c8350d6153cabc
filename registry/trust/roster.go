// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"certrotation.dev/registry/pki"
)

// RequestKind says what a request asks for.
type RequestKind string

// Request kinds.
const (
	RequestRotate RequestKind = "Rotate"
	RequestAbort  RequestKind = "Abort"
)

// Request is a user's request. It is answered once: the write that answers it names it on the Secret
// (AnnotationAnswered), then its record is deleted.
type Request struct {
	// ID is the UID of the record, Record its name.
	ID, Record string
	Kind       RequestKind
	// Secret that the request is about.
	Secret string
	// Reason, for people.
	Reason string
	// Compromised says that the key must not be trusted any longer than needed.
	Compromised bool
}

// Roster records the members and leaves that count. It grows freely. A member leaves it only by proof of absence. To
// pass over a present member, an operator waives it (Waiver).
type Roster struct {
	// ResourceVersion of the record.
	ResourceVersion string
	// Signers are the names of all Secrets that were the signer of the domain, ordered. Their CAs are the domain's
	// own.
	Signers []string
	// Members ordered by party and member.
	Members []RosterMember
	// Leaves are the names of the leaf Secrets, ordered.
	Leaves []string
	// Populated are the parties of pods whose selector has ever selected a pod (Party.populatedName), ordered.
	Populated []string
	// Issued says that leaves were ever issued: a started member may present one that no Secret holds any more. It is
	// recorded before the first leaf.
	Issued bool
	// MayHaveSigned are the CAs that may have signed leaves before they were promoted, the latest last. A CA is added
	// before its first leaf. NeverSigned are the CAs whose rotation was aborted before that. They sign nothing any
	// more, so no member presents their leaves. Both are writes to the same record, so a deposed leader cannot make a
	// CA both.
	MayHaveSigned, NeverSigned []pki.Fingerprint
}

// MaxUnpromoted bounds the lists of CAs in a roster to the latest rotations.
const MaxUnpromoted = 16

// RosterMember is one member as it counts.
type RosterMember struct {
	Party, Member string
	// Instance of the Member.
	Instance string
	// Pod says that the member is a pod.
	Pod  bool
	Kind EvidenceKind
	// Grace of the Party.
	Grace time.Duration
	// Verifies and Presents are names of leaves.
	Verifies, Presents []string
	// VerifiesNothing of the Party.
	VerifiesNothing bool
	// Started says that the member may be running: its leaves were ever issued, or it was observed.
	Started bool
	// Absent is the proof that the member is gone, "" if there is none. It is void once the configuration names the
	// member.
	Absent string
	// Observations of the member, as in Member. They are not part of the record.
	Observations []Observation
}

// RefusedWrite is a write that the API server refuses to the controller. With VerbRestart it is a workload restart
// that is held.
type RefusedWrite struct {
	// Object as Kind/name.
	Object string
	// Verb of the request, and the Answer to it.
	Verb, Answer string
	Since        time.Time
}

// VerbRestart is not a verb of the API. It marks a rotation that waits for the pods of a workload to restart.
const VerbRestart = "restart"

// roster returns what must be recorded of the members that count now. It is computed once.
func (a *assessor) roster() *Roster {
	if a.toRecord == nil {
		a.toRecord = a.newRoster()
	}
	return a.toRecord
}

func (a *assessor) newRoster() *Roster {
	out := &Roster{Signers: []string{a.d.Signer.Name}, Populated: a.populated()}
	byMember := map[string]*RosterMember{}
	// The parties are nearly in the order of a roster.
	var keys []string
	for p, m := range each(a.parties) {
		r := a.rosterMember(p, m)
		key := AbsenceKey(r)
		if before := byMember[key]; before != nil {
			before.join(r)
			continue
		}
		byMember[key] = r
		keys = append(keys, key)
	}
	out.MayHaveSigned, out.NeverSigned = a.unpromoted()
	out.Issued = a.hasLeaves()
	if before := a.d.Roster; before != nil {
		out.ResourceVersion, out.Issued = before.ResourceVersion, out.Issued || before.Issued
		out.Signers = append(out.Signers, before.Signers...)
		if !a.unrotated {
			out.Leaves = a.unreleased(before.Leaves)
		}
		keys = append(keys, a.markAbsences(byMember, before)...)
	}
	for i := range a.d.Leaves {
		out.Leaves = append(out.Leaves, a.d.Leaves[i].Name)
	}
	for _, key := range keys {
		if r := byMember[key]; r != nil {
			out.Members = append(out.Members, *r)
		}
	}
	slices.SortFunc(out.Members, compareMembers)
	out.Signers, out.Leaves = sortedSet(out.Signers), sortedSet(out.Leaves)
	return out
}

// unpromoted returns the roster's lists of CAs that were not promoted. They are kept after the rotation: a reader
// with a stale signer must not remove anything from them.
func (a *assessor) unpromoted() (mayHaveSigned, neverSigned []pki.Fingerprint) {
	next, before := a.d.Signer.Next, a.d.Roster
	switch {
	case before != nil:
		mayHaveSigned, neverSigned = before.MayHaveSigned, before.NeverSigned
	case next != nil:
		// The record of next is lost.
		mayHaveSigned = []pki.Fingerprint{next.Fingerprint}
	}
	if next != nil && !a.dropsNext() {
		// The abort was withdrawn.
		neverSigned = slices.DeleteFunc(slices.Clone(neverSigned), func(f pki.Fingerprint) bool { return f == next.Fingerprint })
	}
	return mayHaveSigned, neverSigned
}

// mayHaveSigned reports whether leaves may have been signed by a CA that was not promoted. neverSigned reports that
// none were, and none will be. Both are false while nothing is recorded: the CA does not sign yet.
func (a *assessor) mayHaveSigned(ca *pki.Certificate) bool {
	return a.d.Roster != nil && slices.Contains(a.d.Roster.MayHaveSigned, ca.Fingerprint)
}

func (a *assessor) neverSigned(ca *pki.Certificate) bool {
	return a.d.Roster != nil && slices.Contains(a.d.Roster.NeverSigned, ca.Fingerprint)
}

// recordNeverSigned closes next to signing before an abort drops it.
func (a *assessor) recordNeverSigned(*Assessment) *Action {
	next := a.d.Signer.Next
	if !a.dropsNext() || a.rosterRefused() || a.mayHaveSigned(next) || a.neverSigned(next) {
		return nil
	}
	roster := *a.roster()
	roster.NeverSigned = latest(roster.NeverSigned, next)
	return rosterAction(a.d, &roster, next.Subject+" has signed nothing, and is not to")
}

// recordIssue updates the roster before the first leaf of the domain is issued, and before the first leaf of next.
func (a *assessor) recordIssue(issues []Action) *Action {
	next, roster := a.d.Signer.Next, *a.roster()
	opens := next != nil && !a.mayHaveSigned(next) && slices.ContainsFunc(issues, func(i Action) bool { return i.Authority == next.Fingerprint })
	if len(issues) == 0 || a.rosterRefused() || roster.Issued && !opens {
		return nil
	}
	roster.Issued = true
	if opens {
		roster.MayHaveSigned = latest(roster.MayHaveSigned, next)
		return rosterAction(a.d, &roster, next.Subject+" is about to sign")
	}
	return rosterAction(a.d, &roster, "the first leaves are about to be issued")
}

// hasLeaves reports whether leaves are live that another issuer made, or that no Secret holds.
func (a *assessor) hasLeaves() bool {
	return a.lives > 0 || a.d.Unlisted != nil && a.d.Signer.Active != nil
}

// opensNext reports whether an action records that next is about to sign.
func (a *assessor) opensNext(action *Action) bool {
	next := a.d.Signer.Next
	return action.Kind == RecordRoster && next != nil && !a.mayHaveSigned(next) && slices.Contains(action.Roster.MayHaveSigned, next.Fingerprint)
}

func latest(list []pki.Fingerprint, ca *pki.Certificate) []pki.Fingerprint {
	list = append(slices.Clone(list), ca.Fingerprint)
	return list[max(0, len(list)-MaxUnpromoted):]
}

// markAbsences records the proofs that members are gone. Absent members stay in the roster while a rotation lasts,
// for people, and while a leaf exists that they alone presented. A pod that is gone leaves at once, as no other pod
// has its UID. It returns the keys of the members that it adds.
func (a *assessor) markAbsences(members map[string]*RosterMember, before *Roster) (added []string) {
	for i := range before.Members {
		if a.named.of(&before.Members[i]) != nil {
			continue
		}
		r := before.Members[i]
		r.Observations = nil
		switch counts := members[AbsenceKey(&r)]; {
		case counts != nil && r.Pod && a.d.Absences[AbsenceKey(&r)] != "":
			delete(members, AbsenceKey(&r))
		case counts != nil:
			counts.Absent = a.d.Absences[AbsenceKey(&r)]
		case r.Absent != "" && !r.Pod && (!a.unrotated || slices.ContainsFunc(r.Presents, func(name string) bool { return a.leaves[name] != nil && !a.held[name] })):
			members[AbsenceKey(&r)] = &r
			added = append(added, AbsenceKey(&r))
		}
	}
	return added
}

func (a *assessor) rosterMember(p *Party, m *Member) *RosterMember {
	return &RosterMember{
		Party: p.Name, Member: m.Name, Instance: m.Instance, Pod: m.Pod != nil, Kind: p.Kind, Grace: p.Grace,
		Verifies: sortedSet(p.Verifies), VerifiesNothing: p.VerifiesNothing, Presents: sortedSet(m.Holds), Started: !a.idle[m],
	}
}

// join adds what a member was recorded with. The evidence kind that was recorded first stays.
func (r *RosterMember) join(recorded *RosterMember) {
	r.Kind = recorded.Kind
	r.Grace = max(r.Grace, recorded.Grace)
	r.Verifies = sortedSet(append(r.Verifies, recorded.Verifies...))
	r.Presents = sortedSet(append(r.Presents, recorded.Presents...))
	r.VerifiesNothing = r.VerifiesNothing && recorded.VerifiesNothing
	r.Started = r.Started || recorded.Started
}

func sortedSet(in []string) []string {
	if len(in) == 1 {
		return slices.Clip(in)
	}
	return slices.Compact(slices.Sorted(slices.Values(in)))
}

// Abandoned returns the leaves whose every presenting member is proven to be gone.
func Abandoned(d *Domain) map[string]bool {
	if d.Roster == nil {
		return nil
	}
	out := map[string]bool{}
	named := namesOf(d, nil)
	for i := range d.Roster.Members {
		r := &d.Roster.Members[i]
		gone := r.Absent != "" && named.of(r) == nil
		for _, name := range r.Presents {
			if before, seen := out[name]; !seen || before {
				out[name] = gone
			}
		}
	}
	return out
}

func (a *assessor) rosterDue() bool { return !a.roster().same(a.d.Roster) }

func (r *Roster) same(other *Roster) bool {
	if other == nil || r.Issued != other.Issued || !slices.Equal(r.Signers, other.Signers) || !slices.Equal(r.Leaves, other.Leaves) ||
		!slices.Equal(r.Populated, other.Populated) ||
		!slices.Equal(r.MayHaveSigned, other.MayHaveSigned) || !slices.Equal(r.NeverSigned, other.NeverSigned) {
		return false
	}
	return slices.EqualFunc(r.Members, other.Members, func(x, y RosterMember) bool {
		return x.Party == y.Party && x.Member == y.Member && x.Instance == y.Instance && x.Pod == y.Pod && x.Kind == y.Kind && x.Grace == y.Grace &&
			slices.Equal(x.Verifies, y.Verifies) && slices.Equal(x.Presents, y.Presents) &&
			x.VerifiesNothing == y.VerifiesNothing && x.Started == y.Started && x.Absent == y.Absent
	})
}

// recordRoster writes the roster before any other action, unless that write is refused. Only what makes a key waits
// for it, not what restores leaves. At rest pods come and go unrecorded. They are recorded before a key is made, and
// in flight.
func (a *assessor) recordRoster(*Assessment) *Action {
	if a.rosterRefused() || !a.rosterDue() || a.unrotated && a.roster().withoutPods().same(a.d.Roster.withoutPods()) {
		return nil
	}
	return a.countAction()
}

func (a *assessor) rosterRefused() bool {
	return slices.ContainsFunc(a.d.Refusals, func(r RefusedWrite) bool { return r.Object == string(RecordKind)+"/"+RosterRecord(a.d.Name) })
}

func (a *assessor) countAction() *Action {
	roster := a.roster()
	return rosterAction(a.d, roster, fmt.Sprintf("%d members and %d leaves count", len(roster.Members), len(roster.Leaves)))
}

func rosterAction(d *Domain, roster *Roster, reason string) *Action {
	return &Action{
		Kind: RecordRoster, ObjectKind: RecordKind, Object: RosterRecord(d.Name), ResourceVersion: roster.ResourceVersion,
		Roster: roster, Reason: reason,
	}
}

// withKey makes a key only after the members are recorded that must be proven before the key signs for all.
func (a *assessor) withKey(action *Action) *Action {
	if a.rosterDue() {
		return a.countAction()
	}
	return action
}

// RosterRecord is the name of the record with the roster of a domain.
func RosterRecord(domain string) string { return "roster." + domain }

// AbsenceKey names a member of a roster.
func AbsenceKey(m *RosterMember) string { return m.Party + "/" + m.Member + "/" + m.Instance }

// Missing returns the members of the roster that count although the configuration does not name them. The caller
// should look for proof that they are gone.
func Missing(d *Domain) []RosterMember {
	if d.Roster == nil {
		return nil
	}
	named, rests := namesOf(d, nil), sync.OnceValue(func() bool { return atRest(d) })
	var out []RosterMember
	for i := range d.Roster.Members {
		r := &d.Roster.Members[i]
		if named.of(r) != nil || r.Absent != "" || (!countsAtRest(d, r) && rests()) {
			continue
		}
		out = append(out, *r)
	}
	return out
}

// atRest reports whether the content shows no rotation in flight, independent of the clock: there is one CA, and it
// has signed all leaves. Then members that do not count at rest need no proof, however many the last rotation left in
// the roster.
func atRest(d *Domain) bool {
	s := &d.Signer
	if s.Active == nil || s.Next != nil || len(s.Previous) > 0 {
		return false
	}
	other := func(ca *pki.Certificate) bool { return !same(ca, s.Active) }
	return !slices.ContainsFunc(d.Bundle.Anchors, other) && !slices.ContainsFunc(d.Leaves, func(l Leaf) bool {
		return l.Certificate != nil && !l.Certificate.SignedBy(s.Active)
	})
}
