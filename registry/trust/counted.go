// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"slices"
)

// contentUnrotated reports whether the content shows no rotation in flight. Unlike the stage it does not depend on
// the members that count.
func (a *assessor) contentUnrotated() bool {
	s := &a.d.Signer
	return s.Active != nil && s.Next == nil && len(s.Previous)+len(a.former()) == 0 && !a.leavesBehind()
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

// countedAs returns the parties of counted with that name, with only the members of that name. It saves callers that
// need one of thousands of members the full list.
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
		// Of a party that only the roster has, the caller asks whether any member counts.
		if r.Party != party || (configured && r.Member != member) {
			continue
		}
		if p := a.recorded(r); p != nil {
			out = append(out, p)
		}
	}
	return out
}

// recorded returns the party of a roster member as far as it differs from the configuration. It is nil if the
// configuration says the same, or if the member does not count.
func (a *assessor) recorded(r *RosterMember) *Party {
	at := a.named.of(r)
	if at == nil {
		if r.Absent != "" || (a.unrotated && !countsAtRest(a.d, r)) {
			return nil
		}
		p := r.party(Member{Name: r.Member, Instance: r.Instance, Holds: a.unreleased(r.Presents), Observations: r.Observations})
		if r.Pod {
			// The pod is not observed any more. It may have started since it was recorded as not started.
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

// countsAtRest reports whether an unconfigured member of the roster counts although no rotation is in flight. That is
// a node's member which its party no longer selects, and which is not released. In any case it counts if it alone
// presents an unreleased leaf.
func countsAtRest(d *Domain, r *RosterMember) bool {
	if r.Instance == "" || r.Pod {
		return false
	}
	released := slices.Contains(d.ReleasedMembers, r.Party+"/"+r.Member)
	return d.Party(r.Party) != nil && !released || slices.ContainsFunc(r.Presents, func(leaf string) bool {
		return !slices.Contains(d.Released, leaf) && !d.holds(leaf)
	})
}

func (d *Domain) holds(leaf string) bool {
	return slices.ContainsFunc(d.Parties, func(p Party) bool { return p.holds(leaf) })
}

func (p *Party) holds(leaf string) bool {
	return slices.ContainsFunc(p.Members, func(m Member) bool { return slices.Contains(m.Holds, leaf) })
}

// watched reports whether the controller itself observes evidence of a kind, as long as it is configured to.
func watched(kind EvidenceKind) bool {
	return kind == TLSProbe || kind == StaticPodRevision || kind == WorkloadRollout || kind == Mounted || kind == CABundle
}

// stillVerified returns the leaves that a member of the roster verifies: the recorded ones, and the new ones that its
// party verifies. If the party is gone, or verifies nothing any more, it may verify any new leaf.
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

// unconfigured returns the members, by MemberName, that count although the configuration does not name them.
func (a *assessor) unconfigured() []string {
	var out []string
	for p, m := range each(a.parties) {
		if p.recorded && a.named.of(&RosterMember{Party: p.Name, Member: m.Name, Instance: m.Instance, Pod: m.Pod != nil}) == nil {
			out = append(out, MemberName(p.Name, m.Name))
		}
	}
	return sortedSet(out)
}

// covers reports whether a configured member must prove at least what was recorded of it.
func covers(p *Party, m *Member, r *RosterMember, presents []string) bool {
	return p.Kind == r.Kind && p.Grace >= r.Grace && (r.VerifiesNothing || !p.VerifiesNothing) &&
		contains(p.Verifies, r.Verifies) && contains(m.Holds, presents)
}

// contains reports whether all has every element of some. Mostly they are equal.
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

// notStarted returns the members that cannot run yet: nodes' members for whose name no leaf was ever issued, and pods
// without a started container. No rotation waits for them, as they load what is published when they start. They count
// from their first leaf, or the first start of a container. A node that returns with another address may run with its
// old leaf.
func (a *assessor) notStarted() map[*Member]bool {
	idle := map[*Member]bool{}
	for p, m := range each(a.parties) {
		if !a.started(p, m) {
			idle[m] = true
		}
	}
	return idle
}

// started reports whether a member may be running. Without any sign it returns true.
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

// wasIssued reports whether the Secret of a leaf exists, readable or not.
func (a *assessor) wasIssued(leaf string) bool {
	l := a.leaves[leaf]
	return l != nil && l.Present && !l.Unadopted()
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
func (a *assessor) wasPresented(leaf string) bool {
	_, found := slices.BinarySearch(a.startedWith, leaf)
	return found
}

func compareMembers(x, y RosterMember) int {
	return cmp.Or(cmp.Compare(x.Party, y.Party), cmp.Compare(x.Member, y.Member), cmp.Compare(x.Instance, y.Instance))
}

// met reports whether a process was ever observed. A failure to answer does not tell whether it runs.
func met(o *Observation) bool {
	return o.Failure == "" || len(o.Trusts)+len(o.TrustedSubjects)+len(o.Presents) > 0
}

// place is the party and member of the configuration that a name refers to.
type place struct {
	party  *Party
	member *Member
}

// names indexes the members of the configuration, to compare them with the roster.
type names struct {
	d      *Domain
	places map[memberKey]place
}

// namesOf indexes all members, or only the given one.
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

// of returns the configured place of a roster member. It is nil if the configuration does not have it, or only
// another machine of its name.
//
// A new Node object does not mean a new machine: a machine may register again with what runs on it. It is another
// machine if its leaf was issued for other names or addresses when it was first seen.
func (n *names) of(r *RosterMember) *place {
	at, ok := n.places[memberKey{r.Party, r.Member}]
	switch {
	case !ok:
		return nil
	case r.Pod || at.member.Pod != nil:
		// A pod of the same name is another pod. A node or a host of that name is another member.
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

func hasInstance(d *Domain, r *RosterMember, instance string) bool {
	if d.Roster == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(d.Roster.Members, RosterMember{Party: r.Party, Member: r.Member, Instance: instance}, compareMembers)
	return found
}

// renamed reports whether the leaves of a member were issued for another machine of its name: they lack names that it
// needs now.
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

// Returned reports whether a node with the name of a roster member, and another UID, may be the same machine: one
// that registered again, with what runs on it. It is another machine if the roster says so, or if none of its
// addresses is in a leaf that the member presents.
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
