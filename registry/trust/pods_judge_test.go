// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"
)

// withPods adds a party of pods, one of them pending, and then starts a rotation.
func (g *gate) withPods(kind EvidenceKind) {
	pod := func(name string, started bool) Member {
		m := Member{Name: name, Instance: "uid-" + name, Pod: &Pod{Started: started}}
		if kind == TLSProbe {
			m.Probes = []Probe{{Address: name + ":443"}}
		}
		return m
	}
	g.d.Parties = append(g.d.Parties, Party{
		Name: "web", Kind: kind, Verifies: []string{"server-0"}, OfPods: true, Selector: "app=web",
		Members: []Member{pod("a", true), pod("b", true), pod("c", false)},
	})
	g.begun()
}

// TestConfigurationOfPodsInFlight: however the members of a party are configured, those that counted still count.
func TestConfigurationOfPodsInFlight(t *testing.T) {
	const counts, processes = "members must not be removed", "evidence must stay of the same processes"
	trust := []Invariant{TrustBeforeUse}
	acknowledging := func(g *gate) { g.withPods(Acknowledgement) }
	probed := func(g *gate) { g.withPods(TLSProbe) }
	started := func(g *gate) { g.withPods(WorkloadRollout) }
	mounting := func(g *gate) { g.withPods(Mounted); g.party("web").Mounts = Mounts{Trust: "trust", TrustKey: "ca.crt"} }
	chooses := func(selector string, names ...string) func(c *Configured) {
		return func(c *Configured) {
			p := c.named("web")
			p.Selector = selector
			p.Members = slices.DeleteFunc(slices.Clone(p.Members), func(m Member) bool { return !slices.Contains(names, m.Name) })
		}
	}
	tests := []gateCase{
		{name: "the selector chooses fewer", prepare: acknowledging, edit: chooses("app=web,tier=a", "a", "c"), rule: counts, want: trust, affected: []string{"web/b"}},
		{name: "the selector chooses none", prepare: acknowledging, edit: chooses("app=wbe"), rule: counts, want: trust, affected: []string{"web/a", "web/b"}},
		{name: "the selector chooses the pending no more", prepare: acknowledging, edit: chooses("app=web,tier=a", "a", "b")},
		{name: "the selector chooses the same", prepare: acknowledging, edit: chooses("app in (web)", "a", "b", "c")},
		{name: "the selector chooses more", prepare: acknowledging, edit: func(c *Configured) {
			p := c.named("web")
			p.Selector = "app in (web,more)"
			p.Members = append(p.Members, Member{Name: "d", Instance: "uid-d", Pod: &Pod{Started: true}})
		}},
		{name: "the selector chooses more, which are not listed yet", prepare: acknowledging, edit: func(c *Configured) {
			p := c.named("web")
			p.Selector, p.Unlisted = "app in (web,more)", true
		}},
		{name: "pods become members of their names", prepare: acknowledging, edit: func(c *Configured) {
			p := c.named("web")
			p.OfPods, p.Selector = false, ""
			p.Members = []Member{{Name: "a"}, {Name: "b"}, {Name: "c"}}
		}, rule: counts, want: trust, affected: []string{"web/a", "web/b"}},
		{name: "members become pods of their names", edit: func(c *Configured) {
			p := c.named("client-0")
			p.OfPods, p.Selector = true, "app=client-0"
			p.Members = []Member{{Name: "client-0", Instance: "uid", Holds: []string{"client-0"}, Pod: &Pod{Started: true}}}
		}, prepare: (*gate).begun, rule: counts, want: trust, affected: []string{"client-0"}},
		{name: "the port changes", prepare: probed, edit: func(c *Configured) {
			for i := range c.named("web").Members {
				c.named("web").Members[i].Probes[0].Address += "1"
			}
		}, rule: processes, want: trust, affected: []string{"web/a", "web/b"}},
		{name: "a start gate is asked for no more", prepare: started, edit: func(c *Configured) { c.named("web").StartAssumed = true },
			rule: processes, want: trust, affected: []string{"web"}},
		{name: "a start gate is asked for", prepare: func(g *gate) { started(g); g.party("web").StartAssumed = true },
			edit: func(c *Configured) { c.named("web").StartAssumed = false }},
		{name: "what is mounted is read in another volume", prepare: mounting, edit: func(c *Configured) { c.named("web").Mounts = Mounts{Trust: "certs", TrustKey: "ca.crt"} },
			rule: processes, want: trust, affected: []string{"web"}},
		{name: "what is mounted is read under another key", prepare: mounting, edit: func(c *Configured) { c.named("web").Mounts = Mounts{Trust: "trust", TrustKey: "root.crt"} },
			rule: processes, want: trust, affected: []string{"web"}},
		{name: "a leaf is read in one more volume", prepare: mounting, edit: func(c *Configured) { c.named("web").Mounts.Leaves = []string{"tls"} },
			rule: processes, want: trust, affected: []string{"web"}},
		{name: "the volumes stay", prepare: mounting, edit: func(c *Configured) { c.named("web").Mounts = Mounts{Trust: "trust", TrustKey: "ca.crt"} }},
		{name: "other workloads are restarted", prepare: started, edit: func(c *Configured) { c.named("web").Workloads = []Workload{webWorkload} }},
	}
	for i := range tests {
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}
