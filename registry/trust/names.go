// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

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

// twiceChosen returns the pods that two parties select to verify the same leaf, one Problem for each pair of parties.
// The pod must then prove the same twice, and one selector may be wrong. Different leaves, or separate probed
// addresses, are two roles of one pod. Some kinds of evidence are meant to be combined (bothAskedFor). The problem
// stops nothing, as both parties count.
func (d *Domain) twiceChosen() []Problem {
	chosen := map[string][]place{}
	if !severalOfPods(d.Parties) {
		return nil
	}
	for i := range d.Parties {
		p := &d.Parties[i]
		for k := range p.Members {
			if m := &p.Members[k]; m.Pod != nil && !p.VerifiesNothing {
				chosen[m.Instance] = append(chosen[m.Instance], place{p, m})
			}
		}
	}
	type pair struct{ x, y string }
	shared := map[pair][]string{}
	for _, places := range chosen {
		for i, x := range places {
			for _, y := range places[i+1:] {
				if overlap(x.party.Verifies, y.party.Verifies) && !apart(x.member.Probes, y.member.Probes) && !bothAskedFor(x.party, y.party) {
					key := pair{x.party.Name, y.party.Name}
					shared[key] = append(shared[key], x.member.Name)
				}
			}
		}
	}
	var out []Problem
	for _, key := range slices.SortedFunc(maps.Keys(shared), func(a, b pair) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) }) {
		pods := sortedSet(shared[key])
		others := ""
		if len(pods) > 1 {
			others = fmt.Sprintf(" (and %d more pods)", len(pods)-1)
		}
		out = append(out, Problem{Object: "Pod/" + pods[0], Reason: ReasonChosenTwice, Message: fmt.Sprintf(
			"is a member of relying party %s and of %s%s, which verify the same leaf: narrow one of the selectors, or let one of them verify it", key.x, key.y, others)})
	}
	return out
}

// bothAskedFor reports whether two parties select the same pods, one for what they started with and one for what they
// show. The first is by their templates, and a program may read another file than the template names.
func bothAskedFor(x, y *Party) bool {
	xKind, yKind := x.Kind.traits(), y.Kind.traits()
	return (xKind.atStart && yKind.handshake || xKind.handshake && yKind.atStart) && x.Selector == y.Selector
}

func severalOfPods(parties []Party) bool {
	first := slices.IndexFunc(parties, func(p Party) bool { return p.OfPods })
	return first >= 0 && slices.ContainsFunc(parties[first+1:], func(p Party) bool { return p.OfPods })
}

func overlap(x, y []string) bool {
	has := make(map[string]bool, len(x))
	for _, name := range x {
		has[name] = true
	}
	return slices.ContainsFunc(y, func(name string) bool { return has[name] })
}

// apart reports whether both are probed, at different addresses.
func apart(x, y []Probe) bool {
	return len(x) > 0 && len(y) > 0 && !slices.ContainsFunc(x, func(p Probe) bool {
		return slices.ContainsFunc(y, func(q Probe) bool { return p.Address == q.Address })
	})
}
