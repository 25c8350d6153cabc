// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"fmt"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// roster reads who counts. Its members are in order, each once: a second one of a name could say that the first is gone. A
// node that was replaced under its name is another member, by its instance.
func (c *checker) roster(r *configv1alpha1.RecordedRoster) *trust.Roster {
	c.ordered("roster.signers", r.Signers, maxSigners, c.name)
	c.ordered("roster.leaves", r.Leaves, maxRoster, c.name)
	out := &trust.Roster{Signers: r.Signers, Leaves: r.Leaves}
	if len(r.Members) > maxRoster {
		c.fail("roster.members", fmt.Sprintf("it has %d entries, the limit is %d", len(r.Members), maxRoster))
		return out
	}
	for i := range r.Members {
		field := fmt.Sprintf("roster.members[%d]", i)
		out.Members = append(out.Members, c.rosterMember(field, &r.Members[i]))
		if i > 0 && compareMembers(r.Members[i-1], r.Members[i]) >= 0 {
			c.fail(field, "it is out of order")
		}
	}
	return out
}

func (c *checker) rosterMember(field string, m *configv1alpha1.RosterMember) trust.RosterMember {
	out := trust.RosterMember{
		Party: m.Party, Member: m.Member, Instance: m.Instance, Kind: trust.EvidenceKind(m.Evidence),
		Verifies: m.Verifies, Presents: m.Presents, VerifiesNothing: m.VerifiesNothing, Started: m.Started, Absent: m.Absent,
	}
	c.name(field+".party", m.Party)
	c.name(field+".member", m.Member)
	c.text(field+".instance", m.Instance, maxName)
	c.kind(field+".evidence", out.Kind)
	if m.Grace != nil {
		out.Grace = m.Grace.Duration
	}
	if out.Grace < 0 {
		c.fail(field+".grace", "it is negative")
	}
	c.ordered(field+".verifies", m.Verifies, maxRoster, c.name)
	c.ordered(field+".presents", m.Presents, maxRoster, c.name)
	c.text(field+".absent", m.Absent, maxText)
	return out
}

func compareMembers(x, y configv1alpha1.RosterMember) int {
	return cmp.Or(cmp.Compare(x.Party, y.Party), cmp.Compare(x.Member, y.Member), cmp.Compare(x.Instance, y.Instance))
}
