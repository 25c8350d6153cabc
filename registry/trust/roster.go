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

// roster are the members that count, and what was observed of those that run: the second step of an assessment.
type roster struct {
	*facts
	// parties as they count, verifiers of each leaf by its name.
	parties   []*Party
	verifiers map[string][]*Party
	// named are the members of the configuration, set if there is a roster to compare them with.
	named *names
	// held are the names of the leaves that a member is known to present.
	held map[string]bool
	// observations are those of each member that apply to its running processes.
	observations map[*Member][]*Observation
	// idle are the members that cannot run yet. startedWith are the leaves of the members that the record has as
	// started.
	idle        map[*Member]bool
	startedWith []string
	// until is when time alone changes the facts or what was observed.
	until moments
}

func newRoster(f *facts) *roster {
	a := &roster{
		facts: f, until: f.until, startedWith: presentedByStarted(f.d.Roster),
		verifiers:    make(map[string][]*Party, len(f.d.Leaves)),
		held:         map[string]bool{},
		observations: map[*Member][]*Observation{},
	}
	if f.d.Roster != nil {
		a.named = namesOf(f.d, nil)
	}
	a.parties = a.counted()
	for _, p := range a.parties {
		a.addParty(p)
	}
	a.idle = a.notStarted()
	return a
}

// addParty indexes a party that counts.
func (a *roster) addParty(p *Party) {
	for _, name := range p.Verifies {
		a.verifiers[name] = append(a.verifiers[name], p)
	}
	for i := range p.Members {
		m := &p.Members[i]
		a.observations[m] = a.current(p, m)
		for _, o := range a.observations[m] {
			a.until.add(o.Expires)
		}
		if o := a.ofTheFuture(p, m); o != nil {
			a.until.add(o.aheadUntil())
		}
		a.until.add(m.recoveredUntil().Add(time.Nanosecond))
		for _, name := range m.Holds {
			a.held[name] = true
		}
	}
	if p.empty || p.Unlisted {
		for _, name := range p.Presents {
			a.held[name] = true
		}
	}
}

// counted returns the parties as they count. In flight these are the parties of the configuration, and every member
// that has counted in the rotation, by the evidence that was required then. At rest the configuration decides.
//
// While its party is configured, a node's member counts until it is proven to be gone or released by name: a changed
// label stops no process. By removing the party, the operator says not to wait for its members. The exception is an
// unreleased leaf: a member that alone presents one still counts.
//
//	            in the configuration      in the roster              counts
//	in flight   yes                       no                         as configured
//	in flight   yes                       with another evidence kind by both
//	in flight   no                        yes                        as recorded
//	at rest     no, but its party         yes, a member of a node,   as recorded
//	                                      that is not released
//	at rest     no                        yes, of a node, and alone  as recorded
//	                                      presents an unreleased leaf
//	at rest     no                        yes, a pod                 no
//	at rest     no                        yes, otherwise             no
//	any         no, or another instance   yes, proven to be absent   no
func (a *roster) counted() []*Party {
	parties := make([]*Party, 0, len(a.d.Parties))
	for i := range a.d.Parties {
		parties = append(parties, a.scaledToZero(&a.d.Parties[i]))
	}
	if a.d.Roster == nil {
		return parties
	}
	for i := range a.d.Roster.Members {
		if p := a.recorded(a.named, &a.d.Roster.Members[i]); p != nil {
			parties = append(parties, p)
		}
	}
	return parties
}

// countedAs returns the parties of counted with that name, with only the members of that name. It saves callers that
// need one of thousands of members the full list.
func (a *facts) countedAs(party, member string) []*Party {
	var out []*Party
	for i := range a.d.Parties {
		if a.d.Parties[i].Name != party {
			continue
		}
		p := a.d.Parties[i]
		p.Members = slices.DeleteFunc(slices.Clone(p.Members), func(m Member) bool { return m.Name != member })
		out = append(out, &p)
	}
	if a.d.Roster == nil {
		return out
	}
	named := namesOf(a.d, &memberKey{party, member})
	configured := len(out) > 0
	for i := range a.d.Roster.Members {
		r := &a.d.Roster.Members[i]
		// Of a party that only the roster has, the caller asks whether any member counts.
		if r.Party != party || (configured && r.Member != member) {
			continue
		}
		if p := a.recorded(named, r); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// recorded returns the party of a roster member as far as it differs from the configuration. It is nil if the
// configuration says the same, or if the member does not count.
func (a *facts) recorded(named *names, r *RosterMember) *Party {
	at := named.of(r)
	if at == nil {
		if r.Absent != "" || (a.unrotated && !countsAtRest(a.d, r)) {
			return nil
		}
		p := r.party(Member{Name: r.Member, Instance: r.Instance, Holds: a.unreleased(r.Presents), Observations: r.Observations})
		if r.Pod {
			// The pod is not observed any more. It may have started since it was recorded as not started.
			p.Members[0].Pod = &Pod{Started: true}
		}
		p.Verifies, p.unwatched, p.releases = a.stillVerified(r), r.Kind.Watched(), releases(a.d, r)
		return p
	}
	if a.unrotated || covers(at.party, at.member, r, a.unreleased(r.Presents)) {
		return nil
	}
	member := *at.member
	member.Holds = a.unreleased(r.Presents)
	p := r.party(member)
	p.Verifies, p.unwatched, p.Mounts = a.stillVerified(r), r.Kind.Watched() && at.party.Kind != r.Kind, at.party.Mounts
	return p
}

// countsAtRest reports whether an unconfigured member of the roster counts although no rotation is in flight.
func countsAtRest(d *Domain, r *RosterMember) bool { return len(releases(d, r)) > 0 }

// releases are the fields of the configuration, with what to add to them, that end what a person alone can end: without
// all of them an unconfigured member of the roster counts also at rest. That is a node's member which its party no
// longer selects, and one that alone presents a leaf.
func releases(d *Domain, r *RosterMember) []string {
	if r.Instance == "" || r.Pod {
		return nil
	}
	var out []string
	if name := r.Party + "/" + r.Member; d.Party(r.Party) != nil && !slices.Contains(d.ReleasedMembers, name) {
		out = append(out, fmt.Sprintf("releasedMembers: [%s]", name))
	}
	for _, leaf := range r.Presents {
		if !slices.Contains(d.Released, leaf) && !d.holds(leaf) {
			out = append(out, fmt.Sprintf("releasedLeaves: [%s]", leaf))
		}
	}
	return out
}

// scaledToZero marks a party of pods as empty if none runs now and the roster says that some did: new pods load what
// is published then. A selector that never selected a pod may be wrong. It proves as little as any other missing
// answer.
func (a *roster) scaledToZero(p *Party) *Party {
	if !unpopulated(p) || a.d.Roster == nil || !slices.Contains(a.d.Roster.Populated, p.populatedName()) {
		return p
	}
	out := *p
	out.empty = true
	return &out
}

// stillVerified returns the leaves that a member of the roster verifies: the recorded ones, and the new ones that its
// party verifies. If the party is gone, or verifies nothing any more, it may verify any new leaf.
func (a *facts) stillVerified(r *RosterMember) []string {
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

// covers reports whether a configured member must prove at least what was recorded of it.
func covers(p *Party, m *Member, r *RosterMember, presents []string) bool {
	return p.Kind == r.Kind && p.Grace >= r.Grace && (r.VerifiesNothing || !p.VerifiesNothing) &&
		contains(p.Verifies, r.Verifies) && contains(m.Holds, presents)
}

// unconfigured returns the members, by MemberName, that count although the configuration does not name them, each with
// its releases.
func (a *roster) unconfigured() map[string][]string {
	out := map[string][]string{}
	for p, m := range each(a.parties) {
		if p.recorded && a.named.of(&RosterMember{Party: p.Name, Member: m.Name, Instance: m.Instance, Pod: m.Pod != nil}) == nil {
			out[MemberName(p.Name, m.Name)] = p.releases
		}
	}
	return out
}

// current returns the observations that apply to the running processes of a member. They are of its evidence kind,
// within their lease, of a process that was not replaced since, and not from the future.
func (a *roster) current(p *Party, m *Member) []*Observation {
	var out []*Observation
	for i := range m.Observations {
		o := &m.Observations[i]
		switch {
		case o.Kind != p.Kind, !m.Runs(o), a.fromTheFuture(o):
			continue
		case p.Kind.traits().inVolumes && o.Address != p.Mounts.Place(), !o.Expires.After(a.now):
			continue
		}
		out = append(out, o)
	}
	return out
}

// notStarted returns the members that cannot run yet: nodes' members for whose name no leaf was ever issued, and pods
// without a started container. No rotation waits for them, as they load what is published when they start. They count
// from their first leaf, or the first start of a container. A node that returns with another address may run with its
// old leaf.
func (a *roster) notStarted() map[*Member]bool {
	idle := map[*Member]bool{}
	for p, m := range each(a.parties) {
		if !a.started(p, m) {
			idle[m] = true
		}
	}
	return idle
}

// started reports whether a member may be running. Without any sign it returns true.
func (a *roster) started(p *Party, m *Member) bool {
	switch {
	case m.Pod != nil:
		return m.Pod.Started
	case m.Instance == "" || len(m.Holds) == 0 || slices.ContainsFunc(a.observations[m], met):
		return true
	case slices.ContainsFunc(m.Holds, a.wasIssued) || slices.ContainsFunc(m.Holds, a.wasPresented):
		return true
	case a.d.Roster == nil:
		return a.anySeen()
	}
	at, _ := slices.BinarySearchFunc(a.d.Roster.Members, RosterMember{Party: p.Name, Member: m.Name}, compareMembers)
	for i := at; i < len(a.d.Roster.Members); i++ {
		r := &a.d.Roster.Members[i]
		if r.Party != p.Name || r.Member != m.Name {
			break
		}
		if r.Started {
			return true
		}
	}
	return false
}

// presentedByStarted returns the leaves of the members that are recorded as started, ordered.
func presentedByStarted(roster *Roster) (leaves []string) {
	if roster == nil {
		return nil
	}
	for i := range roster.Members {
		if r := &roster.Members[i]; r.Started {
			leaves = append(leaves, r.Presents...)
		}
	}
	return sortedSet(leaves)
}

// wasPresented reports whether a member of any party is recorded as started with a leaf.
func (a *roster) wasPresented(leaf string) bool {
	_, found := slices.BinarySearch(a.startedWith, leaf)
	return found
}

// anyLive reports whether anything could be cut off at all. Unreadable leaves, and leaves that no Secret holds, count
// as live.
//
// Missing Secrets prove nothing: processes outlive them. An unexpired anchor of the domain means that a leaf of it
// may still be presented. So does a member that was observed to present a leaf, or is recorded to run.
func (a *roster) anyLive() bool {
	return a.anySeen() || a.anyLost()
}

// anySeen is anyLive without the leaves that are lost together with their CA.
func (a *roster) anySeen() bool {
	return a.lives+len(a.unreadable) > 0 || a.unlistedLive() || a.anyAnchor() || a.anyPresented()
}

// anyLost reports whether a member may present a leaf that is lost together with its CA.
func (a *roster) anyLost() bool {
	if active := a.d.Signer.Active; active != nil && !a.unsure(active) || a.d.Roster == nil || !a.d.Roster.Issued {
		return false
	}
	missing := func(name string) bool { return a.leaves[name] == nil || !a.leaves[name].Present }
	for _, m := range each(a.parties) {
		if !a.idle[m] && (a.d.Unlisted != nil || slices.ContainsFunc(m.Holds, missing)) {
			return true
		}
	}
	return false
}

// anyPresented reports whether there is a current observation of a process that presents a leaf.
func (a *roster) anyPresented() bool {
	presents := func(o *Observation) bool { return len(o.Presents) > 0 }
	for p, m := range each(a.parties) {
		if !p.recorded && slices.ContainsFunc(a.observations[m], presents) {
			return true
		}
	}
	return false
}

// restorable reports whether the active CA, which all members trust already, can restore missing or expired leaves.
// Their holders may still present what their Secrets no longer hold, so this is no fresh start. That holds even if
// the bundle is lost too: it is rebuilt from the slots.
func (a *roster) restorable() bool {
	active := a.d.Signer.Active
	return active != nil && active.ValidAt(a.now) && (len(a.d.Leaves) > 0 || a.formerHolders())
}

// formerHolders reports whether a member counts that is no longer configured and may present a leaf. A lost label, or
// a removed party, stops no process.
func (a *roster) formerHolders() bool {
	for p, m := range each(a.parties) {
		if p.recorded && len(m.Holds) > 0 && a.started(p, m) {
			return true
		}
	}
	return false
}

// rostered reports whether a leaf counted when the rotation began.
func (a *roster) rostered(leaf string) bool {
	return a.d.Roster != nil && !a.unrotated && slices.Contains(a.d.Roster.Leaves, leaf) && !slices.Contains(a.d.Released, leaf)
}

// copiesAnchors reports whether the anchors in the Secret of a leaf are kept up to date. A Secret without anchors
// needs none: no verifier uses it. A leaf that the configuration no longer names keeps them while a member that
// presents it counts, as that may restart with them.
func (a *roster) copiesAnchors(l *Leaf) bool {
	return a.hasAnchors(l) && l.Certificate != nil && l.Problem == nil && unwritable("", &l.Object) == nil
}

// hasAnchors reports whether members may verify by the anchors in the Secret of a leaf, also if it is broken.
func (a *roster) hasAnchors(l *Leaf) bool {
	return len(l.Anchors) > 0 && !l.Unadopted() && (!l.Unnamed || a.held[l.Name])
}

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
