// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"slices"
)

// contentUnrotated says whether the content shows no rotation in flight. Unlike the stage it does not depend on who counts.
func (a *assessor) contentUnrotated() bool {
	s := &a.d.Signer
	return s.Active != nil && s.Next == nil && len(s.Previous)+len(a.former()) == 0 && !a.leavesBehind()
}

// counted are the parties as they count: those of the configuration and, while a rotation is in flight, everybody who has
// counted in it, by the evidence that was asked for then. At rest the configuration decides who there is. The member of a
// node counts until it is proven to be gone, or released by name, as long as its party is configured, as nobody removes a process
// by changing a label. With the party the operator has said that nobody of it is to be waited for, except for leaves that were not released:
// whoever alone presents one counts on.
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
func (a *assessor) counted() []*Party {
	parties := make([]*Party, 0, len(a.d.Parties))
	for i := range a.d.Parties {
		parties = append(parties, a.scaledToZero(&a.d.Parties[i]))
	}
	if a.d.Roster == nil {
		return parties
	}
	a.named = namesOf(a.d, nil)
	for i := range a.d.Roster.Members {
		if p := a.recorded(&a.d.Roster.Members[i]); p != nil {
			parties = append(parties, p)
		}
	}
	return parties
}

// countedAs are the parties of counted with that name, with the members that have that name alone. It is for whoever asks
// about one of thousands.
func (a *assessor) countedAs(party, member string) []*Party {
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
	a.named = namesOf(a.d, &memberKey{party, member})
	configured := len(out) > 0
	for i := range a.d.Roster.Members {
		r := &a.d.Roster.Members[i]
		// Of a party that only the roster has, it is asked whether anybody counts.
		if r.Party != party || (configured && r.Member != member) {
			continue
		}
		if p := a.recorded(r); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// recorded is the party of a member of the roster as far as the configuration does not say the same, nil if it does.
func (a *assessor) recorded(r *RosterMember) *Party {
	at := a.named.of(r)
	if at == nil {
		if r.Absent != "" || (a.unrotated && !countsAtRest(a.d, r)) {
			return nil
		}
		p := r.party(Member{Name: r.Member, Instance: r.Instance, Holds: a.unreleased(r.Presents), Observations: r.Observations})
		if r.Pod {
			// Nobody looks at it any more. It may have been started since, even if it was not when it was recorded.
			p.Members[0].Pod = &Pod{Started: true}
		}
		p.Verifies, p.unwatched = a.stillVerified(r), watched(r.Kind)
		return p
	}
	if a.unrotated || covers(at.party, at.member, r, a.unreleased(r.Presents)) {
		return nil
	}
	member := *at.member
	member.Holds = a.unreleased(r.Presents)
	p := r.party(member)
	p.Verifies, p.unwatched, p.Mounts = a.stillVerified(r), watched(r.Kind) && at.party.Kind != r.Kind, at.party.Mounts
	return p
}

// countsAtRest says whether a member of the roster that is not configured counts although no rotation is in flight: that of a
// node which its party no longer chooses, and which was not released, or which alone presents a leaf that was not released.
func countsAtRest(d *Domain, r *RosterMember) bool {
	if r.Instance == "" || r.Pod {
		return false
	}
	released := slices.Contains(d.ReleasedMembers, r.Party+"/"+r.Member)
	return d.Party(r.Party) != nil && !released || slices.ContainsFunc(r.Presents, func(leaf string) bool {
		return !slices.Contains(d.Released, leaf) && !d.holds(leaf)
	})
}

// holds says whether a member of the configuration presents a leaf.
func (d *Domain) holds(leaf string) bool {
	return slices.ContainsFunc(d.Parties, func(p Party) bool { return p.holds(leaf) })
}

// holds says whether a member of the party presents a leaf.
func (p *Party) holds(leaf string) bool {
	return slices.ContainsFunc(p.Members, func(m Member) bool { return slices.Contains(m.Holds, leaf) })
}

// watched says whether evidence of a kind is what the system itself has seen, as long as it is configured to look.
func watched(kind EvidenceKind) bool {
	return kind == TLSProbe || kind == StaticPodRevision || kind == WorkloadRollout || kind == Mounted || kind == CABundle
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

// unconfigured are the members, by MemberName, that count though the configuration does not name them.
func (a *assessor) unconfigured() []string {
	var out []string
	for p, m := range each(a.parties) {
		if p.recorded && a.named.of(&RosterMember{Party: p.Name, Member: m.Name, Instance: m.Instance, Pod: m.Pod != nil}) == nil {
			out = append(out, MemberName(p.Name, m.Name))
		}
	}
	return sortedSet(out)
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

// notStarted are the members that cannot run yet: those of nodes because no leaf was ever issued to their name, and pods because
// no container of theirs was started. Nobody has to wait for them: whoever starts later loads what is published then. They
// begin to count with their first leaf, or the first start of a container. A node that comes back with another address may run
// with the leaf that it had.
func (a *assessor) notStarted() map[*Member]bool {
	idle := map[*Member]bool{}
	for p, m := range each(a.parties) {
		if !a.started(p, m) {
			idle[m] = true
		}
	}
	return idle
}

// started says whether a member may be running. Where nothing tells it does.
func (a *assessor) started(p *Party, m *Member) bool {
	switch {
	case m.Pod != nil:
		return m.Pod.Started
	case m.Instance == "" || len(m.Holds) == 0 || slices.ContainsFunc(a.observations[m], met):
		return true
	case slices.ContainsFunc(m.Holds, a.wasIssued) || slices.ContainsFunc(m.Holds, a.wasPresented):
		return true
	case a.d.Roster == nil:
		return a.anyLive()
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

// wasIssued says whether the Secret of a leaf is there, whatever it holds.
func (a *assessor) wasIssued(leaf string) bool {
	l := a.leaves[leaf]
	return l != nil && l.Present && !l.Unadopted()
}

// presentedByStarted are the leaves of the members that are recorded as started, ordered.
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

// wasPresented says whether a member of any party is recorded as started with a leaf.
func (a *assessor) wasPresented(leaf string) bool {
	_, found := slices.BinarySearch(a.startedWith, leaf)
	return found
}

// compareMembers is the order of a roster.
func compareMembers(x, y RosterMember) int {
	return cmp.Or(cmp.Compare(x.Party, y.Party), cmp.Compare(x.Member, y.Member), cmp.Compare(x.Instance, y.Instance))
}

// met says whether anything was seen of a process. That nothing answers says nothing of whether it runs.
func met(o *Observation) bool {
	return o.Failure == "" || len(o.Trusts)+len(o.TrustedSubjects)+len(o.Presents) > 0
}

// place is where the configuration has a member.
type place struct {
	party  *Party
	member *Member
}

// names are the members of the configuration, to be compared with those of the roster.
type names struct {
	d      *Domain
	places map[memberKey]place
}

// namesOf are those of all members, or of the one that is asked for.
func namesOf(d *Domain, only *memberKey) *names {
	out := &names{d: d, places: make(map[memberKey]place, len(d.Parties))}
	for i := range d.Parties {
		p := &d.Parties[i]
		for k := range p.Members {
			if key := (memberKey{p.Name, p.Members[k].Name}); only == nil || key == *only {
				out.places[key] = place{p, &p.Members[k]}
			}
		}
	}
	return out
}

// of is where the configuration has the member of a roster, nil if it does not have it, or only another machine of its name.
//
// That a node has a new object says nothing of its machine, which may have registered again with what runs on it. It is
// another machine if its leaf was issued for other names or addresses when it was first seen.
func (n *names) of(r *RosterMember) *place {
	at, ok := n.places[memberKey{r.Party, r.Member}]
	switch {
	case !ok:
		return nil
	case r.Pod || at.member.Pod != nil:
		// A pod of the same name is another one, and so is a node or a host that is called like it.
		if r.Pod && at.member.Pod != nil && at.member.Instance == r.Instance {
			return &at
		}
		return nil
	case at.member.Instance == r.Instance, at.member.Instance == "", r.Instance == "":
		return &at
	case r.Absent != "" || hasInstance(n.d, r, at.member.Instance) || renamed(n.d, at.member):
		return nil
	}
	return &at
}

// hasInstance says whether the roster has another instance of a member.
func hasInstance(d *Domain, r *RosterMember, instance string) bool {
	if d.Roster == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(d.Roster.Members, RosterMember{Party: r.Party, Member: r.Member, Instance: instance}, compareMembers)
	return found
}

// renamed says whether what a member presents was issued for another machine of its name: it lacks names that the member needs now.
func renamed(d *Domain, m *Member) bool {
	return slices.ContainsFunc(m.Holds, func(name string) bool {
		l := d.Leaf(name)
		if l == nil || l.Certificate == nil {
			return false
		}
		_, missing := hostDifference(l.Certificate, l.Policy.Profile)
		return len(missing) > 0
	})
}

// Returned says whether a node that has the name of a member of the roster, and another UID, may be the same machine: one that
// has registered again, with what runs on it. It is another one if it was recorded as such, or if what the member presents
// was issued for none of its addresses.
func Returned(d *Domain, r *RosterMember, uid string, addresses []string) bool {
	if hasInstance(d, r, uid) {
		return false
	}
	return !slices.ContainsFunc(r.Presents, func(name string) bool {
		l := d.Leaf(name)
		if l == nil || l.Certificate == nil || len(l.Certificate.IPAddresses) == 0 {
			return false
		}
		return !slices.ContainsFunc(l.Certificate.IPAddresses, func(ip string) bool { return slices.Contains(addresses, ip) })
	})
}
