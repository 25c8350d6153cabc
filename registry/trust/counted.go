// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"fmt"
	"slices"
)

// atRest says whether the content shows no rotation in flight. Unlike the stage it does not depend on who counts.
func (a *assessor) atRest() bool {
	s := &a.d.Signer
	return s.Active != nil && s.Next == nil && len(s.Previous)+len(a.former()) == 0 && !a.leavesBehind()
}

// counted are the parties as they count: those of the configuration and, while a rotation is in flight, everybody who has
// counted in it, by the evidence that was asked for then. At rest the configuration decides who there is. A member of a
// node counts until it is proven to be gone in any case, as nobody removes a process by changing a label.
//
//	            in the configuration      in the roster              counts
//	in flight   yes                       no                         as configured
//	in flight   yes                       with another evidence kind by both
//	in flight   no                        yes                        as recorded
//	at rest     no                        yes, a member of a node    as recorded
//	at rest     no                        yes, otherwise             no
//	any         no, or another instance   yes, proven to be absent   no
func (a *assessor) counted() []*Party {
	parties := make([]*Party, 0, len(a.d.Parties))
	for i := range a.d.Parties {
		parties = append(parties, &a.d.Parties[i])
	}
	if a.d.Roster == nil {
		return parties
	}
	a.named = namesOf(a.d)
	for i := range a.d.Roster.Members {
		if p := a.recorded(&a.d.Roster.Members[i]); p != nil {
			parties = append(parties, p)
		}
	}
	return parties
}

// recorded is the party of a member of the roster as far as the configuration does not say the same, nil if it does.
func (a *assessor) recorded(r *RosterMember) *Party {
	at := a.named.of(r)
	if at == nil {
		if r.Absent != "" || (a.rest && r.Instance == "") {
			return nil
		}
		p := r.party(Member{Name: r.Member, Instance: r.Instance, Holds: a.unreleased(r.Presents), Observations: r.Observations})
		p.Verifies, p.unwatched = a.stillVerified(r), watched(r.Kind)
		return p
	}
	if a.rest || covers(at.party, at.member, r, a.unreleased(r.Presents)) {
		return nil
	}
	member := *at.member
	member.Holds = a.unreleased(r.Presents)
	p := r.party(member)
	p.Verifies, p.unwatched = a.stillVerified(r), watched(r.Kind) && at.party.Kind != r.Kind
	return p
}

// watched says whether evidence of a kind is what the system itself has seen, as long as it is configured to look.
func watched(kind EvidenceKind) bool {
	return kind == TLSProbe || kind == StaticPodRevision || kind == WorkloadRollout
}

// stillVerified are the leaves that a member of the roster verifies: those that were recorded, and what its party verifies
// of those that are new. It cannot be known which those are if the party is gone, or is said to verify nothing any more.
func (a *assessor) stillVerified(r *RosterMember) []string {
	if r.VerifiesNothing {
		return r.Verifies
	}
	verified := slices.Clone(r.Verifies)
	for i := range a.d.Parties {
		if p := &a.d.Parties[i]; p.Name == r.Party && !p.VerifiesNothing {
			return sortedSet(append(verified, p.Verifies...))
		}
	}
	for i := range a.d.Leaves {
		if name := a.d.Leaves[i].Name; !slices.Contains(a.d.Roster.Leaves, name) {
			verified = append(verified, name)
		}
	}
	return sortedSet(verified)
}

func (r *RosterMember) party(m Member) *Party {
	return &Party{
		Name: r.Party, Kind: r.Kind, Grace: r.Grace, Verifies: r.Verifies, VerifiesNothing: r.VerifiesNothing,
		Members: []Member{m}, recorded: true,
	}
}

// covers says whether a configured member promises all that was recorded of it.
func covers(p *Party, m *Member, r *RosterMember, presents []string) bool {
	return p.Kind == r.Kind && p.Grace >= r.Grace && (r.VerifiesNothing || !p.VerifiesNothing) &&
		contains(p.Verifies, r.Verifies) && contains(m.Holds, presents)
}

// contains says whether all has everything of some, which is mostly the same and in the same order.
func contains(all, some []string) bool {
	if slices.Equal(all, some) {
		return true
	}
	has := make(map[string]bool, len(all))
	for _, name := range all {
		has[name] = true
	}
	return !slices.ContainsFunc(some, func(name string) bool { return !has[name] })
}

func (a *assessor) unreleased(leaves []string) []string {
	if len(a.d.Released) == 0 {
		return leaves
	}
	return slices.DeleteFunc(slices.Clone(leaves), func(name string) bool { return slices.Contains(a.d.Released, name) })
}

// waiver is the one that is in force for a member, nil if there is none.
func (a *assessor) waiver(p *Party, m *Member) *Waiver {
	for i := range a.d.Waivers {
		w := &a.d.Waivers[i]
		if w.Party == p.Name && w.Member == m.Name && w.Expires.After(a.now) {
			a.recheckAt(w.Expires)
			return w
		}
	}
	return nil
}

// notStarted are the members of nodes that cannot run yet, because no leaf of theirs was ever issued. Nobody has to wait
// for them: whoever starts later loads what is published then. They begin to count with their first leaf.
func (a *assessor) notStarted() map[*Member]bool {
	idle := map[*Member]bool{}
	for _, p := range a.parties {
		for i := range p.Members {
			if m := &p.Members[i]; !a.started(p, m) {
				idle[m] = true
			}
		}
	}
	return idle
}

// started says whether a member may be running. Where nothing tells it does.
func (a *assessor) started(p *Party, m *Member) bool {
	if m.Instance == "" || len(m.Holds) == 0 || slices.ContainsFunc(a.current(p, m), met) {
		return true
	}
	if slices.ContainsFunc(m.Holds, func(name string) bool { return issuedFor(a.leaves[name]) }) {
		return true
	}
	if a.d.Roster == nil {
		return a.anyLive()
	}
	at, _ := slices.BinarySearchFunc(a.d.Roster.Members, RosterMember{Party: p.Name, Member: m.Name}, compareMembers)
	for i := at; i < len(a.d.Roster.Members); i++ {
		r := &a.d.Roster.Members[i]
		if r.Party != p.Name || r.Member != m.Name {
			break
		}
		if r.Started && (r.Instance == m.Instance || r.Absent == "" && !renamed(a.d, m)) {
			return true
		}
	}
	return false
}

// compareMembers is the order of a roster.
func compareMembers(x, y RosterMember) int {
	return cmp.Or(cmp.Compare(x.Party, y.Party), cmp.Compare(x.Member, y.Member), cmp.Compare(x.Instance, y.Instance))
}

// met says whether anything was seen of a process. That nothing answers says nothing of whether it runs.
func met(o *Observation) bool {
	return o.Failure == "" || len(o.Trusts)+len(o.TrustedSubjects)+len(o.Presents) > 0
}

// roster is what has to be recorded of who counts now, put together once.
func (a *assessor) roster() *Roster {
	if a.toRecord == nil {
		a.toRecord = a.newRoster()
	}
	return a.toRecord
}

func (a *assessor) newRoster() *Roster {
	out := &Roster{Signers: []string{a.d.Signer.Name}}
	byMember := map[string]*RosterMember{}
	for _, p := range a.parties {
		for i := range p.Members {
			r := a.rosterMember(p, &p.Members[i])
			if before := byMember[AbsenceKey(r)]; before != nil {
				before.join(r)
				continue
			}
			byMember[AbsenceKey(r)] = r
		}
	}
	if before := a.d.Roster; before != nil {
		out.ResourceVersion = before.ResourceVersion
		out.Signers = append(out.Signers, before.Signers...)
		if !a.rest {
			out.Leaves = a.unreleased(before.Leaves)
		}
		a.markAbsences(byMember, before)
	}
	for i := range a.d.Leaves {
		out.Leaves = append(out.Leaves, a.d.Leaves[i].Name)
	}
	for _, r := range byMember {
		out.Members = append(out.Members, *r)
	}
	slices.SortFunc(out.Members, compareMembers)
	out.Signers, out.Leaves = sortedSet(out.Signers), sortedSet(out.Leaves)
	return out
}

// markAbsences notes the proofs that members are gone. They stay in the roster with it while a rotation lasts, for people,
// and as long as a leaf of theirs is there that nobody else presents.
func (a *assessor) markAbsences(members map[string]*RosterMember, before *Roster) {
	for i := range before.Members {
		r := before.Members[i]
		r.Observations = nil
		if a.named.of(&r) != nil {
			continue
		}
		switch counts := members[AbsenceKey(&r)]; {
		case counts != nil:
			counts.Absent = a.d.Absences[AbsenceKey(&r)]
		case r.Absent != "" && (!a.rest || slices.ContainsFunc(r.Presents, func(name string) bool { return a.leaves[name] != nil && !a.held[name] })):
			members[AbsenceKey(&r)] = &r
		}
	}
}

func (a *assessor) rosterMember(p *Party, m *Member) *RosterMember {
	return &RosterMember{
		Party: p.Name, Member: m.Name, Instance: m.Instance, Kind: p.Kind, Grace: p.Grace,
		Verifies: sortedSet(p.Verifies), VerifiesNothing: p.VerifiesNothing, Presents: sortedSet(m.Holds), Started: !a.idle[m],
	}
}

// join adds what a member was recorded with. The evidence that was recorded first stays.
func (r *RosterMember) join(recorded *RosterMember) {
	r.Kind = recorded.Kind
	r.Grace = max(r.Grace, recorded.Grace)
	r.Verifies = sortedSet(append(r.Verifies, recorded.Verifies...))
	r.Presents = sortedSet(append(r.Presents, recorded.Presents...))
	r.VerifiesNothing = r.VerifiesNothing && recorded.VerifiesNothing
	r.Started = r.Started || recorded.Started
}

func sortedSet(in []string) []string { return slices.Compact(slices.Sorted(slices.Values(in))) }

// Abandoned are the leaves that only members presented which are proven to be gone.
func Abandoned(d *Domain) map[string]bool {
	if d.Roster == nil {
		return nil
	}
	out := map[string]bool{}
	named := namesOf(d)
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

// rosterDue says whether the record does not say who counts.
func (a *assessor) rosterDue() bool { return !a.roster().same(a.d.Roster) }

func (r *Roster) same(other *Roster) bool {
	if other == nil || !slices.Equal(r.Signers, other.Signers) || !slices.Equal(r.Leaves, other.Leaves) {
		return false
	}
	return slices.EqualFunc(r.Members, other.Members, func(x, y RosterMember) bool {
		return x.Party == y.Party && x.Member == y.Member && x.Instance == y.Instance && x.Kind == y.Kind && x.Grace == y.Grace &&
			slices.Equal(x.Verifies, y.Verifies) && slices.Equal(x.Presents, y.Presents) &&
			x.VerifiesNothing == y.VerifiesNothing && x.Started == y.Started && x.Absent == y.Absent
	})
}

// recordRoster writes who counts, before anything else is done, unless that write is refused: what restores leaves does
// not wait for it, only what makes a key does.
func (a *assessor) recordRoster(*Assessment) *Action {
	refused := slices.ContainsFunc(a.d.Refusals, func(r RefusedWrite) bool { return r.Object == string(RecordKind)+"/"+RosterRecord(a.d.Name) })
	if refused || !a.rosterDue() {
		return nil
	}
	return a.rosterAction()
}

func (a *assessor) rosterAction() *Action {
	roster := a.roster()
	return &Action{
		Kind: RecordRoster, ObjectKind: RecordKind, Object: RosterRecord(a.d.Name), ResourceVersion: roster.ResourceVersion,
		Roster: roster, Reason: fmt.Sprintf("%d members and %d leaves count", len(roster.Members), len(roster.Leaves)),
	}
}

// withKey makes a key only after it is recorded who has to be proven before it signs for all.
func (a *assessor) withKey(action *Action) *Action {
	if a.rosterDue() {
		return a.rosterAction()
	}
	return action
}

// RosterRecord is the name of the record with the roster of a domain.
func RosterRecord(domain string) string { return "roster." + domain }

// AbsenceKey names a member of a roster.
func AbsenceKey(m *RosterMember) string { return m.Party + "/" + m.Member + "/" + m.Instance }

// Missing are the members of the roster that count although the configuration does not name them: whoever can prove that
// they are gone is to be asked.
func Missing(d *Domain) []RosterMember {
	if d.Roster == nil {
		return nil
	}
	named := namesOf(d)
	var out []RosterMember
	for i := range d.Roster.Members {
		if r := &d.Roster.Members[i]; named.of(r) == nil && r.Absent == "" {
			out = append(out, *r)
		}
	}
	return out
}
