// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConfigurationAtRest: at rest the configuration decides which members count. It drops a live leaf only if
// that is released by name.
func TestConfigurationAtRest(t *testing.T) {
	released := []Invariant{ReleasedByName}
	everything := []string{
		"Secret/signer", "ConfigMap/bundle", "Secret/client-0", "Secret/client-1", "Secret/client-2", "Secret/client-3", "Secret/server-0",
	}
	const domain, aggregate, leaf = "a removed domain must be released", "a removed aggregate must be released", "live leaves must not be removed"
	forget := func(c *Configured) { c.Domains = nil }
	swap := func(c *Configured) {
		other := *c.Domains[0]
		c.Domains[0].Signer.Name, c.Domains[0].Bundle.Name = "other", "others"
		other.Name = "other"
		c.Domains = append(c.Domains, &other)
	}
	drop := func(c *Configured) {
		d := c.Domains[0]
		d.Leaves = slices.DeleteFunc(d.Leaves, func(l Leaf) bool { return l.Name == "client-0" })
	}
	tests := []gateCase{
		{name: "the domain removed", prepare: (*gate).consents, rule: domain, want: released, affected: everything, edit: forget},
		{name: "the domain renamed", prepare: (*gate).consents, rule: domain, want: released, affected: everything,
			edit: func(c *Configured) { c.Domains[0].Name = "other" }},
		{name: "the domain removed after all was released", edit: forget},
		{name: "the domain removed that is of another configuration", prepare: func(g *gate) {
			g.consents()
			g.d.Signer.Annotations[AnnotationConfiguration] = "another"
		}, rule: domain, want: released, affected: everything[1:], edit: forget},
		{name: "a domain removed of which nothing exists", prepare: func(g *gate) {
			deleteSigner(&g.d)
			deleteBundle(&g.d)
			for _, name := range g.names() {
				deleteLeaf(name)(&g.d)
				g.process(name).member.Observations = nil
			}
		}, edit: forget},
		{name: "another signer", prepare: (*gate).consents, rule: domain, want: released, affected: everything[:1],
			edit: func(c *Configured) { c.Domains[0].Signer.Name = "other" }},
		{name: "another bundle", prepare: (*gate).consents, rule: domain, want: released, affected: everything[1:2],
			edit: func(c *Configured) { c.Domains[0].Bundle.Name = "other" }},
		{name: "two domains swapped", prepare: (*gate).consents, rule: domain, want: released, affected: everything[:2], edit: swap},
		{name: "the aggregate removed", prepare: (*gate).consents, rule: aggregate, want: released, affected: []string{"Secret/all", "ConfigMap/all"},
			edit: func(c *Configured) { c.Aggregates = nil }},
		{name: "the aggregate removed after it was released", edit: func(c *Configured) { c.Aggregates = nil }},
		{name: "the copy removed", prepare: (*gate).consents, edit: func(c *Configured) { c.Carriers = nil }},
		{name: "a leaf claimed by something else", rule: leaf, want: []Invariant{AnchorInUse}, affected: []string{"Secret/client-0"}, edit: drop},
		{name: "a leaf claimed by something else after it was released", prepare: func(g *gate) { g.d.Released = []string{"client-0"} }, edit: drop},
		{name: "a leaf that cannot be read claimed by something else", prepare: func(g *gate) { g.leaf("client-0").Certificate = nil },
			rule: leaf, want: []Invariant{AnchorInUse}, affected: []string{"Secret/client-0"}, edit: drop},
		{name: "a leaf that does not exist claimed by something else", prepare: func(g *gate) { deleteLeaf("client-0")(&g.d) }, edit: drop},
		{name: "a leaf released", edit: func(c *Configured) { drop(c); c.Domains[0].Released = []string{"client-0"} }},
		{name: "a leaf not named any more", edit: func(c *Configured) { c.Domains[0].Leaves[0].Unnamed = true }},
		{name: "a party removed", edit: func(c *Configured) { c.Domains[0].Parties = c.Domains[0].Parties[1:] }},
		{name: "a probe asks somebody else", edit: func(c *Configured) { c.named("server-0").Members[0].Probes[0].Address = "other:443" }},
		{name: "the drain shortened", edit: func(c *Configured) { c.Domains[0].Unlisted = nil }},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}

// TestConsequencesOfAConfiguration: an allowed edit is answered with what still counts. An edit that drops
// something is never answered from a view that may be stale.
func TestConsequencesOfAConfiguration(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(g *gate)
		edit    func(c *Configured)
		letsGo  bool
		want    []string
	}{
		"nothing": {edit: func(*Configured) {}},
		"the domain removed": {edit: func(c *Configured) { c.Domains = nil }, letsGo: true,
			want: []string{"trust domain service: it would no longer be configured; nothing renews what it leaves behind"}},
		"another signer": {edit: func(c *Configured) { c.Domains[0].Signer.Name = "other" }, letsGo: true,
			want: []string{"trust domain service: its signer would no longer be Secret/signer; nothing renews what it leaves behind"}},
		"a node without its label": {edit: func(c *Configured) { c.named("client-0").Members = nil }, letsGo: true,
			want: []string{"trust domain service: client-0 still counts until it is seen to be gone, waived, or released by releasedMembers: [client-0/client-0] and releasedLeaves: [client-0]"}},
		"a party removed that alone presents a leaf": {edit: func(c *Configured) { c.Domains[0].Parties = c.Domains[0].Parties[1:] }, letsGo: true,
			want: []string{"trust domain service: client-0 still counts until it is seen to be gone, waived, or released by releasedLeaves: [client-0]"}},
		"a party removed": {edit: func(c *Configured) {
			c.Domains[0].Parties = c.Domains[0].Parties[1:]
			m := &c.named("server-0").Members[0]
			m.Holds = append(slices.Clone(m.Holds), "client-0")
		}, letsGo: true, want: []string{"trust domain service: relying party client-0 counts no more: no rotation waits for its members"}},
		"a party that is no node removed, beside the anchor of somebody else": {prepare: func(g *gate) {
			g.onNode("client-0", "")
			g.d.Roster = newChoice(decide(&g.d, g.now)).record
			g.d.Bundle.Anchors = append(slices.Clone(g.d.Bundle.Anchors), foreign(g.world))
		}, edit: func(c *Configured) { c.Domains[0].Parties = c.Domains[0].Parties[1:] }, letsGo: true,
			want: []string{"trust domain service: relying party client-0 counts no more: no rotation waits for its members"}},
		"a leaf not named": {edit: func(c *Configured) { c.Domains[0].Leaves[0].Unnamed = true },
			want: []string{"Secret/client-0 counts until it is deleted or named in releasedLeaves, and is not renewed"}},
		"a leaf released": {edit: func(c *Configured) {
			c.Domains[0].Leaves = c.Domains[0].Leaves[1:]
			c.Domains[0].Released = []string{"client-0"}
		}, letsGo: true, want: []string{"Secret/client-0 is released: processes that present it are refused once its CA is retired"}},
		"a party added": {edit: func(c *Configured) {
			c.Domains[0].Parties = append(c.Domains[0].Parties, Party{Name: "more", Kind: None})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			g.onNode("client-0", "uid")
			g.until(RecordRoster)
			if tt.prepare != nil {
				tt.prepare(g)
			}
			before, after := g.configured(), g.configured()
			tt.edit(after)
			got := JudgeConfiguration(gateConfiguration, before, after, g.now)
			if diff := cmp.Diff(&ConfigurationJudgement{LetsGo: tt.letsGo, Consequences: tt.want}, got); diff != "" {
				t.Errorf("judgement (-want +got):\n%s", diff)
			}
		})
	}
}
