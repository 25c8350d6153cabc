// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "slices"

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

func namesOf(d *Domain) *names {
	out := &names{d: d, places: make(map[memberKey]place, len(d.Parties))}
	for i := range d.Parties {
		p := &d.Parties[i]
		for k := range p.Members {
			out.places[memberKey{p.Name, p.Members[k].Name}] = place{p, &p.Members[k]}
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

// renamed says whether what a member is to present was issued for another machine of its name.
func renamed(d *Domain, m *Member) bool {
	return slices.ContainsFunc(m.Holds, func(name string) bool {
		i := slices.IndexFunc(d.Leaves, func(l Leaf) bool { return l.Name == name })
		return i >= 0 && d.Leaves[i].Certificate != nil && !issuedFor(&d.Leaves[i])
	})
}

// issuedFor says whether a leaf has the names that its holder needs now. One that was made for the former machine of the same
// name does not.
func issuedFor(l *Leaf) bool {
	if l == nil || l.Certificate == nil {
		return false
	}
	_, missing := hostDifference(l.Certificate, l.Policy.Profile)
	return len(missing) == 0
}

// Returned says whether a node that has the name of a member of the roster, and another UID, may be the same machine: one that
// has registered again, with what runs on it. It is another one if it was recorded as such, or if what the member presents
// was issued for none of its addresses.
func Returned(d *Domain, r *RosterMember, uid string, addresses []string) bool {
	if hasInstance(d, r, uid) {
		return false
	}
	return !slices.ContainsFunc(r.Presents, func(name string) bool {
		i := slices.IndexFunc(d.Leaves, func(l Leaf) bool { return l.Name == name })
		if i < 0 || d.Leaves[i].Certificate == nil || len(d.Leaves[i].Certificate.IPAddresses) == 0 {
			return false
		}
		return !slices.ContainsFunc(d.Leaves[i].Certificate.IPAddresses, func(ip string) bool { return slices.Contains(addresses, ip) })
	})
}
