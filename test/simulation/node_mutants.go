// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// nodeMutants are wrong about a node that comes back, or a renamed party of nodes.
func nodeMutants() []mutant {
	onNodes := func(t *topology) { t.servers = 0 }
	return []mutant{
		{name: "a node with another address is new", make: believing(movedIsNew), shape: onNodes, often: []string{"object of a node", "reachable"}},
		{
			name: "who was of a party by another name still counts by that", make: believing(formerNameCounts), shape: onNodes,
			often: []string{"name of a party", "rotate"}, breaks: []string{"NoSilentWait"},
		},
	}
}

// movedIsNew takes a node whose leaf is for another address for a new node, which runs nothing before it has
// another leaf.
func movedIsNew(d *trust.Domain, _ time.Time) {
	moved := map[string]bool{}
	for i := range d.Parties {
		p := &d.Parties[i]
		p.Members = slices.DeleteFunc(p.Members, func(m trust.Member) bool {
			if m.Instance != "" && slices.ContainsFunc(m.Holds, func(name string) bool { return forAnotherAddress(d.Leaf(name)) }) {
				moved[m.Name] = true
			}
			return moved[m.Name]
		})
	}
	if d.Roster != nil {
		d.Roster.Members = slices.DeleteFunc(d.Roster.Members, func(r trust.RosterMember) bool { return moved[r.Member] })
	}
}

func forAnotherAddress(l *trust.Leaf) bool {
	return l != nil && l.Certificate != nil && !slices.Equal(l.Certificate.IPAddresses, l.Policy.Profile.IPAddresses)
}

// formerNameCounts counts a member under the former name of its party as long as the node exists.
func formerNameCounts(d *trust.Domain, _ time.Time) {
	if d.Roster == nil {
		return
	}
	for i := range d.Roster.Members {
		r := &d.Roster.Members[i]
		if r.Instance == "" || r.Absent != "" || d.Party(r.Party) != nil {
			continue
		}
		d.Parties = append(d.Parties, trust.Party{
			Name: r.Party, Kind: r.Kind, Verifies: r.Verifies, VerifiesNothing: r.VerifiesNothing,
			Members: []trust.Member{{Name: r.Member, Instance: r.Instance, Holds: r.Presents, Observations: r.Observations}},
		})
	}
}
