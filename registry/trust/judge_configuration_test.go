// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"certrotation.dev/registry/pki"
)

// gate is a namespace in which all objects consent. It has one trust domain with every kind of evidence, an
// aggregate and a copy.
type gate struct {
	*fleet
	aggregates []*Aggregate
	carriers   []Carrier
}

const gateConfiguration = "pki"

func newGate(t *testing.T) *gate {
	g := &gate{fleet: newFleet(t, topology{
		servers: []EvidenceKind{TLSProbe}, clients: []EvidenceKind{Acknowledgement, GracePeriod, Renewed, None},
	})}
	ack := g.party("client-0")
	ack.Lease, ack.Reporters = time.Hour, &Reporters{Users: []string{"a", "b"}}
	g.d.Unlisted = &Unlisted{Drain: time.Hour}
	g.aggregates = []*Aggregate{{
		Secret: Object{Name: "all"}, ConfigMap: Object{Name: "all"},
		Leaves: []string{"server-0"}, Bundles: []AggregatedBundle{{Key: "ca", Bundle: "bundle"}},
	}}
	g.carriers = []Carrier{{Name: "the copy", Objects: []string{"ConfigMap/bundle"}}}
	g.settle()
	return g
}

func (g *gate) consents() {
	consent := func(o *Object) {
		o.Present = true
		record(o, Metadata{Annotations: map[string]string{AnnotationConfiguration: gateConfiguration}})
	}
	consent(&g.d.Signer.Object)
	consent(&g.d.Bundle.Object)
	for i := range g.d.Leaves {
		consent(&g.d.Leaves[i].Object)
	}
	consent(&g.aggregates[0].Secret)
	consent(&g.aggregates[0].ConfigMap)
}

// configured returns a copy of the configuration that tests may edit.
func (g *gate) configured() *Configured {
	d := g.clone()
	for i := range d.Parties {
		for k := range d.Parties[i].Members {
			m := &d.Parties[i].Members[k]
			m.Probes, m.Holds = slices.Clone(m.Probes), slices.Clone(m.Holds)
		}
	}
	aggregate := *g.aggregates[0]
	return &Configured{Domains: []*Domain{d}, Aggregates: []*Aggregate{&aggregate}, Carriers: slices.Clone(g.carriers)}
}

func (c *Configured) named(party string) *Party { return c.Domains[0].Party(party) }

func withoutRule(name string) []configurationRule {
	return slices.DeleteFunc(configurationRules(), func(r configurationRule) bool { return r.name == name })
}

// begun starts a rotation, which then waits for its members.
func (g *gate) begun() {
	g.request("test")
	g.settle()
}

// nobody removes the verifiers of server-0, or the holder of client-0, from the configuration and the roster.
func (g *gate) nobody(does string) {
	for i := range g.d.Parties {
		p := &g.d.Parties[i]
		if does == "verifies" {
			p.Verifies = slices.DeleteFunc(slices.Clone(p.Verifies), func(name string) bool { return name == "server-0" })
		} else if p.Name == "client-0" {
			p.Members[0].Holds = nil
		}
	}
	g.d.Roster = nil
}

// missesALeaf starts a rotation in which a leaf is missing whose party needs no evidence. The server's
// observations are lost.
func (g *gate) missesALeaf() {
	g.begun()
	for range 2 {
		g.loadAll()
		g.settle()
		g.pass(2 * fleetGrace)
	}
	deleteLeaf("client-3")(&g.d)
	if stage := g.assess().Stage; stage == Stable {
		g.t.Fatalf("it is over: %v", g.done)
	}
	server := g.process("server-0")
	server.member.Observations = nil
	g.remember(server)
}

// gateCase is an edit of a configuration. If it is refused, rule is the only rule that refuses it.
type gateCase struct {
	name    string
	prepare func(g *gate)
	edit    func(c *Configured)
	rule    string
	want    []Invariant
	// affected by the first violation, nil if the test does not care.
	affected []string
}

func (tt *gateCase) run(t *testing.T) {
	g := newGate(t)
	if tt.prepare != nil {
		tt.prepare(g)
	}
	before, after := g.configured(), g.configured()
	tt.edit(after)
	judged := JudgeConfiguration(gateConfiguration, before, after, g.now)
	var got []Invariant
	for _, v := range judged.Violations {
		got = append(got, v.Invariant)
		if v.Object != "RotationConfiguration/"+gateConfiguration || v.Message == "" || v.SafeWay == "" {
			t.Errorf("nobody can act on %+v", v)
		}
	}
	if diff := cmp.Diff(tt.want, got); diff != "" {
		t.Fatalf("violations (-want +got):\n%s\n%+v", diff, judged.Violations)
	}
	if len(tt.want) == 0 {
		return
	}
	if !judged.LetsGo {
		t.Error("it may be answered from a view that is behind")
	}
	if diff := cmp.Diff(tt.affected, judged.Violations[0].Affected); tt.affected != nil && diff != "" {
		t.Errorf("affected (-want +got):\n%s", diff)
	}
	if found := judgeConfiguration(withoutRule(tt.rule), gateConfiguration, before, after, g.now).Violations; len(found) > 0 {
		t.Errorf("without the rule %q it is refused as well: %+v", tt.rule, found)
	}
}

// misnames adds a party that does not exist during a rotation.
func (g *gate) misnames() {
	g.begun()
	g.d.Parties = append(g.d.Parties, Party{Name: "typo", Kind: Acknowledgement, Lease: time.Hour, Verifies: []string{"server-0"}, Members: []Member{{Name: "typo"}}})
	g.settle()
}

func (g *gate) waives() {
	g.d.Waivers = []Waiver{{Party: "typo", Member: "typo", Reason: "it does not exist", Expires: g.now.Add(day), Rotation: RotationOf(&g.d)}}
}

func takesBack(c *Configured) {
	d := c.Domains[0]
	d.Parties = slices.DeleteFunc(d.Parties, func(p Party) bool { return p.Name == "typo" })
}

// TestConfigurationInFlight: during a rotation the configuration may only grow.
func TestConfigurationInFlight(t *testing.T) {
	trust, use, one := []Invariant{TrustBeforeUse}, []Invariant{AnchorInUse}, []Invariant{OneRotation}
	const counts, processes, objects = "members must not be removed", "evidence must stay of the same processes", "a rotation must keep its objects"
	tests := []gateCase{
		{name: "a party removed", rule: counts, want: trust, affected: []string{"client-0"}, edit: func(c *Configured) {
			d := c.Domains[0]
			d.Parties = slices.DeleteFunc(d.Parties, func(p Party) bool { return p.Name == "client-0" })
		}},
		{name: "a party removed that is not recorded yet", prepare: func(g *gate) { g.begun(); g.d.Roster = nil }, rule: counts, want: trust, affected: []string{"client-1"},
			edit: func(c *Configured) {
				d := c.Domains[0]
				d.Parties = slices.DeleteFunc(d.Parties, func(p Party) bool { return p.Name == "client-1" })
			}},
		{name: "an acknowledgement becomes a grace period of a nanosecond", rule: counts, want: trust, affected: []string{"client-0"},
			edit: func(c *Configured) { p := c.named("client-0"); p.Kind, p.Grace, p.Lease = GracePeriod, 1, 0 }},
		{name: "a grace period becomes a nanosecond", rule: counts, want: trust, affected: []string{"client-1"},
			edit: func(c *Configured) { c.named("client-1").Grace = 1 }},
		{name: "a grace period becomes longer", edit: func(c *Configured) { c.named("client-1").Grace *= 2 }},
		{name: "a probe becomes none", rule: counts, want: trust, affected: []string{"server-0"},
			edit: func(c *Configured) { p := c.named("server-0"); p.Kind, p.Reason = None, "in a hurry" }},
		{name: "renewed with a tiny delay", rule: counts, want: trust, affected: []string{"client-2"},
			edit: func(c *Configured) { c.named("client-2").Grace = time.Second }},
		{name: "a grace period becomes renewed", rule: counts, want: trust, affected: []string{"client-1"},
			edit: func(c *Configured) { c.named("client-1").Kind = Renewed }},
		{name: "none becomes a probe", edit: func(c *Configured) { p := c.named("client-3"); p.Kind, p.Grace = Acknowledgement, 0 }},
		{name: "a party of none removed", edit: func(c *Configured) {
			d := c.Domains[0]
			d.Parties = slices.DeleteFunc(d.Parties, func(p Party) bool { return p.Name == "client-3" })
		}},
		{name: "verifies less", rule: counts, want: trust, affected: []string{"server-0"},
			edit: func(c *Configured) { p := c.named("server-0"); p.Verifies = p.Verifies[1:] }},
		{name: "verifies nothing", rule: counts, want: trust, affected: []string{"server-0"},
			edit: func(c *Configured) { p := c.named("server-0"); p.Verifies, p.VerifiesNothing = nil, true }},
		{name: "presents less", rule: counts, want: trust, affected: []string{"client-0"},
			edit: func(c *Configured) { c.named("client-0").Members[0].Holds = nil }},
		{name: "a member renamed", rule: counts, want: trust, affected: []string{"client-0"},
			edit: func(c *Configured) { c.named("client-0").Members[0].Name = "other" }},
		{name: "the member of a node that cannot run yet is removed", prepare: func(g *gate) {
			g.begun()
			g.d.Leaves = append(g.d.Leaves, Leaf{Object: Object{Name: "new"}, Policy: g.leaf("server-0").Policy})
			p := *g.party("client-0")
			p.Name, p.Members = "new", []Member{{Name: "new", Instance: "uid", Holds: []string{"new"}}}
			g.d.Parties = append(g.d.Parties, p)
		}, edit: func(c *Configured) {
			d := c.Domains[0]
			d.Parties = slices.DeleteFunc(d.Parties, func(p Party) bool { return p.Name == "new" })
		}},
		{name: "a member added", edit: func(c *Configured) {
			p := c.named("client-0")
			p.Members = append(p.Members, Member{Name: "more"})
		}},
		{name: "a party added", edit: func(c *Configured) {
			d := c.Domains[0]
			d.Parties = append(d.Parties, Party{Name: "more", Kind: Acknowledgement, Verifies: []string{"server-0"}, Members: []Member{{Name: "more"}}})
		}},
		{name: "verifies more", edit: func(c *Configured) {
			p := c.named("server-0")
			p.Verifies = append(slices.Clone(p.Verifies), "server-0")
		}},

		{name: "a probe asks somebody else", rule: processes, want: trust, affected: []string{"server-0"},
			edit: func(c *Configured) { c.named("server-0").Members[0].Probes[0].Address = "obliging:443" }},
		{name: "a probe asks for another server name", rule: processes, want: trust, affected: []string{"server-0"},
			edit: func(c *Configured) { c.named("server-0").Members[0].Probes[0].ServerName = "obliging" }},
		{name: "a probe takes another proof", rule: processes, want: trust, affected: []string{"server-0"},
			edit: func(c *Configured) { c.named("server-0").Members[0].Probes[0].Handshake = true }},
		{name: "one of two addresses removed", prepare: func(g *gate) {
			g.begun()
			m := &g.party("server-0").Members[0]
			m.Probes = append(m.Probes, Probe{Address: "second:443", Presents: "server-0"})
		}, rule: processes, want: trust, affected: []string{"server-0"},
			edit: func(c *Configured) { m := &c.named("server-0").Members[0]; m.Probes = m.Probes[:1] }},
		{name: "an address added", edit: func(c *Configured) {
			m := &c.named("server-0").Members[0]
			m.Probes = append(m.Probes, Probe{Address: "second:443", Presents: "server-0"})
		}},
		{name: "probed more often and more patiently", edit: func(c *Configured) {
			p := &c.named("server-0").Members[0].Probes[0]
			p.Interval, p.Timeout = time.Second, time.Minute
		}},
		{name: "the lease lengthened", rule: processes, want: trust, affected: []string{"client-0"},
			edit: func(c *Configured) { c.named("client-0").Lease = 720 * time.Hour }},
		{name: "the lease shortened", rule: processes, want: trust, affected: []string{"client-0"},
			edit: func(c *Configured) { c.named("client-0").Lease = time.Minute }},
		{name: "a reporter added", rule: processes, want: trust, affected: []string{"client-0"},
			edit: func(c *Configured) { c.named("client-0").Reporters = &Reporters{Users: []string{"a", "b", "me"}} }},
		{name: "a group may report", rule: processes, want: trust, affected: []string{"client-0"},
			edit: func(c *Configured) {
				c.named("client-0").Reporters = &Reporters{Users: []string{"a"}, Groups: []string{"all"}}
			}},
		{name: "whoever has the right may report", rule: processes, want: trust, affected: []string{"client-0"},
			edit: func(c *Configured) { c.named("client-0").Reporters = nil }},
		{name: "a reporter removed", edit: func(c *Configured) { c.named("client-0").Reporters = &Reporters{Users: []string{"a"}} }},

		{name: "a verifier dropped", rule: "verifiers must not be dropped in flight", want: trust, affected: []string{"Secret/signer"},
			edit: func(c *Configured) { c.Domains[0].Verifiers = pki.Go | pki.OpenSSL }},
		{name: "a verifier added", prepare: func(g *gate) { g.begun(); g.d.Verifiers = pki.Go },
			edit: func(c *Configured) { c.Domains[0].Verifiers = pki.Go | pki.OpenSSL }},
		{name: "all verifiers", prepare: func(g *gate) { g.begun(); g.d.Verifiers = pki.Go },
			edit: func(c *Configured) { c.Domains[0].Verifiers = 0 }},

		{name: "the drain shortened", rule: "waits must not get shorter", want: use, affected: []string{"Secret/signer"},
			edit: func(c *Configured) { c.Domains[0].Unlisted = &Unlisted{Drain: time.Second} }},
		{name: "no leaves are unlisted any more", rule: "waits must not get shorter", want: use, affected: []string{"Secret/signer"},
			edit: func(c *Configured) { c.Domains[0].Unlisted = nil }},
		{name: "the drain lengthened", edit: func(c *Configured) { c.Domains[0].Unlisted = &Unlisted{Drain: 2 * time.Hour} }},
		{name: "the CA is said to be older than it is", rule: "waits must not get shorter", want: use, affected: []string{"Secret/signer"},
			edit: func(c *Configured) { c.Domains[0].Signer.Policy.Profile.Backdate = 0 }},
		{name: "a leaf is said to be older than it is", rule: "waits must not get shorter", want: use, affected: []string{"Secret/client-0"},
			edit: func(c *Configured) { c.Domains[0].Leaves[0].Policy.Profile.Backdate = 0 }},
		{name: "another stage deadline", edit: func(c *Configured) { c.Domains[0].StageDeadline = time.Nanosecond }},
		{name: "another pace", edit: func(c *Configured) { c.Domains[0].ReissuePerMinute = 1 }},

		{name: "the domain removed", rule: objects, want: one, affected: []string{"Secret/signer"}, edit: func(c *Configured) { c.Domains = nil }},
		{name: "the domain renamed", rule: objects, want: one, affected: []string{"Secret/signer"}, edit: func(c *Configured) { c.Domains[0].Name = "other" }},
		{name: "another signer", rule: objects, want: one, affected: []string{"Secret/signer"}, edit: func(c *Configured) { c.Domains[0].Signer.Name = "other" }},
		{name: "another bundle", rule: objects, want: one, affected: []string{"Secret/signer"}, edit: func(c *Configured) { c.Domains[0].Bundle.Name = "other" }},
		{name: "a leaf not named any more, which counts", edit: func(c *Configured) { c.Domains[0].Leaves[0].Unnamed = true }},
		{name: "a leaf released", rule: "leaves must not be released in flight", want: use, affected: []string{"Secret/client-3"}, edit: func(c *Configured) {
			d := c.Domains[0]
			d.Leaves = slices.DeleteFunc(d.Leaves, func(l Leaf) bool { return l.Name == "client-3" })
			d.Released = []string{"client-3"}
		}},
		{name: "a party added by mistake, and taken back", prepare: (*gate).misnames, rule: counts, want: trust, affected: []string{"typo"}, edit: takesBack},
		{name: "a party added by mistake, and taken back when it is waived", prepare: func(g *gate) { g.misnames(); g.waives() }, edit: takesBack},
		{name: "a waived party taken back of which something was seen", prepare: func(g *gate) {
			g.misnames()
			g.waives()
			g.party("typo").Members[0].Observations = []Observation{{Instance: "x", Kind: Acknowledgement, ObservedAt: start, Expires: start}}
		}, rule: counts, want: trust, affected: []string{"typo"}, edit: takesBack},
		{name: "a member released", rule: "members must not be released in flight", want: trust, prepare: func(g *gate) {
			g.onNode("client-0", "uid")
			g.d.Roster = newChoice(decide(&g.d, g.now)).record
			g.begun()
			g.party("client-0").Members = nil
		}, affected: []string{"client-0/client-0"}, edit: func(c *Configured) { c.Domains[0].ReleasedMembers = []string{"client-0/client-0"} }},
		{name: "a leaf released that somebody presents", rule: counts, want: trust, prepare: func(g *gate) {
			g.begun()
			deleteLeaf("client-0")(&g.d)
			g.d.Roster.Leaves = slices.DeleteFunc(g.d.Roster.Leaves, func(name string) bool { return name == "client-0" })
			g.remove("client-0")
		}, affected: []string{"client-0"}, edit: func(c *Configured) { c.Domains[0].Released = []string{"client-0"} }},
		{name: "a leaf claimed by something else", rule: "live leaves must not be removed", want: use, affected: []string{"Secret/client-3"}, edit: func(c *Configured) {
			d := c.Domains[0]
			d.Leaves = slices.DeleteFunc(d.Leaves, func(l Leaf) bool { return l.Name == "client-3" })
		}},
		{name: "other names in a leaf", edit: func(c *Configured) { c.Domains[0].Leaves[0].Policy.Profile.DNSNames = []string{"other"} }},

		{name: "the aggregate removed", rule: "copies and rollouts must stay", want: use, affected: []string{"ConfigMap/all", "Secret/all"},
			edit: func(c *Configured) { c.Aggregates = nil }},
		{name: "the aggregate renamed", rule: "copies and rollouts must stay", want: use, affected: []string{"ConfigMap/all", "Secret/all"},
			edit: func(c *Configured) { c.Aggregates[0].ConfigMap.Name = "other" }},
		{name: "the bundle not aggregated any more", rule: "copies and rollouts must stay", want: use, affected: []string{"ConfigMap/all", "Secret/all"},
			edit: func(c *Configured) { c.Aggregates[0].Bundles = nil }},
		{name: "a leaf not aggregated any more", rule: "copies and rollouts must stay", want: use, affected: []string{"ConfigMap/all", "Secret/all"},
			edit: func(c *Configured) { c.Aggregates[0].Leaves = nil }},
		{name: "a leaf more aggregated", edit: func(c *Configured) { c.Aggregates[0].Leaves = []string{"client-0", "server-0"} }},
		{name: "the copy removed", rule: "copies and rollouts must stay", want: use, affected: []string{"the copy"}, edit: func(c *Configured) { c.Carriers = nil }},

		{name: "a word for who verifies", rule: "no member may be exempted without proof", want: trust, affected: []string{"Secret/server-0"},
			prepare: func(g *gate) { g.nobody("verifies"); g.begun() }, edit: func(c *Configured) {
				d := c.Domains[0]
				d.Parties = append(d.Parties, Party{Name: "word", Kind: GracePeriod, Grace: 1, Verifies: []string{"server-0"}, Members: []Member{{Name: "word"}}})
			}},
		{name: "a word for who presents", rule: "no member may be exempted without proof", want: trust, affected: []string{"Secret/client-0"},
			prepare: func(g *gate) { g.nobody("presents"); g.begun() }, edit: func(c *Configured) {
				d := c.Domains[0]
				d.Parties = append(d.Parties, Party{Name: "word", Kind: None, Members: []Member{{Name: "word", Holds: []string{"client-0"}}}})
			}},
		{name: "somebody who verifies, to be observed", prepare: func(g *gate) { g.nobody("verifies"); g.begun() }, edit: func(c *Configured) {
			d := c.Domains[0]
			d.Parties = append(d.Parties, Party{Name: "seen", Kind: Acknowledgement, Verifies: []string{"server-0"}, Members: []Member{{Name: "seen"}}})
		}},
		{name: "a leaf that is missing is not waited for any more", rule: "an edit must not unblock a step", want: trust,
			prepare: (*gate).missesALeaf, edit: func(c *Configured) {
				d := c.Domains[0]
				d.Leaves = slices.DeleteFunc(d.Leaves, func(l Leaf) bool { return l.Name == "client-3" })
				c.named("client-3").Members[0].Holds = nil
			}},
	}
	for i := range tests {
		if tests[i].prepare == nil {
			tests[i].prepare = (*gate).begun
		}
		t.Run(tests[i].name, func(t *testing.T) { tests[i].run(t) })
	}
}
