// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

// TestSequencesOfEdits draws admitted single edits, with the controller's actions between them. No sequence removes an
// anchor that a live leaf needs, or makes an unproven step possible.
func TestSequencesOfEdits(t *testing.T) {
	property.Check(t, func(rt *rapid.T) { playsEdits(rt, configurationRules(), nil) })
}

// TestSequencesFindMissingRules omits one rule at a time, and tries the edits that it concerns more often. The
// promise must break. Rules on which no process of a fleet depends, such as those of an aggregate, are tested by
// tables only.
func TestSequencesFindMissingRules(t *testing.T) {
	for rule, edits := range map[string][]string{
		"a rotation must keep its objects":         {"domain dropped", "bundle renamed"},
		"a removed domain must be released":        {"domain dropped", "bundle renamed"},
		"live leaves must not be removed":          {"leaf claimed elsewhere"},
		"leaves must not be released in flight":    {"leaf released"},
		"members must not be removed":              {"party removed", "party comes back otherwise"},
		"evidence must stay of the same processes": {"probe moved", "reporter added"},
	} {
		t.Run(rule, func(t *testing.T) {
			hunts := &hunt{TB: t}
			func() {
				defer func() { _ = recover() }()
				search := property.Search{Seed: 5, Checks: 3000, ShrinkTime: time.Millisecond}
				search.Check(hunts, func(rt *rapid.T) { playsEdits(rt, withoutRule(rule), edits) })
			}()
			if !strings.Contains(hunts.found, "in the stage") {
				t.Errorf("the promise holds without the rule: %s", hunts.found)
			}
			t.Log(hunts.found)
		})
	}
}

// hunt is a test that is expected to fail.
type hunt struct {
	rapid.TB
	found string
}

func (h *hunt) note(text string) {
	if strings.Contains(text, "in the stage") || h.found == "" {
		h.found = text
	}
}

func (h *hunt) Errorf(format string, args ...any) { h.note(fmt.Sprintf(format, args...)) }
func (h *hunt) Fatalf(format string, args ...any) { h.note(fmt.Sprintf(format, args...)); panic(h) }
func (h *hunt) Error(args ...any)                 { h.note(fmt.Sprint(args...)) }
func (h *hunt) Fatal(args ...any)                 { h.note(fmt.Sprint(args...)); panic(h) }
func (h *hunt) Fail()                             { h.note("failed") }
func (h *hunt) FailNow()                          { h.note("failed"); panic(h) }
func (h *hunt) Failed() bool                      { return h.found != "" }
func (h *hunt) Logf(string, ...any)               {}
func (h *hunt) Log(...any)                        {}

// sequence is a tale in which people make every edit that the guard admits, one object at a time.
type sequence struct {
	*tale
	rules []configurationRule
	// often are the only edits of the configuration to try, nil for all.
	often []string
	// unguarded is set once no configuration claims the bundle.
	unguarded bool
}

func playsEdits(rt *rapid.T, rules []configurationRule, often []string) {
	top := topology{
		servers: rapid.SliceOfN(rapid.SampledFrom([]EvidenceKind{TLSProbe, Acknowledgement}), 1, 2).Draw(rt, "servers"),
		clients: rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(clientKinds), None)), 1, 2).Draw(rt, "clients"),
	}
	s := &sequence{rules: rules, often: often, tale: &tale{rt: rt, fleet: newFleet(rt, top), promise: (*tale).handshakes}}
	for i := range s.d.Parties {
		if p := &s.d.Parties[i]; p.Kind == Acknowledgement {
			p.Lease, p.Reporters = time.Hour, &Reporters{Users: []string{p.Name}}
		}
	}
	rt.Logf("servers %v, clients %v", top.servers, top.clients)
	moves := map[string]func(*rapid.T){
		"":                s.looks,
		"controller":      s.controls,
		"controller too":  s.controls,
		"controller also": s.controls,
		"both":            s.loadsAndIsObserved,
		"both too":        s.loadsAndIsObserved,
		"restart":         s.restarts,
		"time":            s.time,
		"request":         s.asks,
		"delete leaf":     s.deleteLeaf,
		"delete bundle":   s.deleteBundle,
		"delete signer":   s.deleteSigner,
		"backup":          s.backsUp,
		"restore":         s.restores,
		"by hand":         s.byHand,
		"configuration":   s.configures,
		"everybody":       s.everybody,
		"all but one":     s.allButOne,
		"liar":            s.lies,
	}
	if often != nil {
		for _, move := range []string{"restart", "time", "delete leaf", "delete bundle", "delete signer", "backup", "restore", "by hand"} {
			delete(moves, move)
		}
	}
	rt.Repeat(moves)
}

func (s *sequence) looks(rt *rapid.T) {
	s.dead = s.dead || s.isDead()
	if s.unguarded && !s.dead {
		s.logf("nobody claims the bundle any more: somebody tidies it up")
		s.d.Bundle.Anchors = slices.DeleteFunc(slices.Clone(s.d.Bundle.Anchors), s.d.Signer.Active.Equal)
	}
	a := s.assess()
	s.handshakes(a)
	if a.Stage == Stable {
		s.orphaned = s.orphaned && s.d.Signer.Active == nil
	}
	if s.configured != nil && a.Stage == Stable {
		s.logf("the configuration is as before")
		s.d.Parties, s.configured = s.configured, nil
	}
}

func (s *sequence) controls(rt *rapid.T) {
	if s.unguarded {
		rt.Skip("nothing is configured")
	}
	s.controller(rt)
}

func (s *sequence) asks(rt *rapid.T) {
	if !s.d.Signer.Present || len(s.d.Requests) > 0 {
		rt.Skip("no signer, or asked already")
	}
	s.logf("a rotation is requested")
	s.fleet.request("test")
}

// everybody makes all processes load and be observed, and then performs all actions.
func (s *sequence) everybody(rt *rapid.T) { s.follow(rt, nil) }

// allButOne is everybody without one process.
func (s *sequence) allButOne(rt *rapid.T) { s.follow(rt, s.draw(rt)) }

func (s *sequence) follow(rt *rapid.T, laggard *process) {
	s.pass(2 * fleetGrace)
	for _, p := range s.processes {
		if p != laggard {
			s.logf("%s loads and is observed", p.member.Name)
			s.load(p)
			s.observe(p)
		}
	}
	for range 20 {
		actions := s.assess().Actions
		if s.unguarded || len(actions) == 0 {
			return
		}
		s.performs(&actions[0])
		s.looks(rt)
	}
}

// byHand makes one edit of a Secret or ConfigMap, as a person does who knows the protocol.
func (s *sequence) byHand(rt *rapid.T) {
	edits := map[string]func(d *Domain){
		"the oldest anchor removed": func(d *Domain) { d.Bundle.Anchors = d.Bundle.Anchors[min(1, len(d.Bundle.Anchors)):] },
		"the newest anchor removed": func(d *Domain) { d.Bundle.Anchors = d.Bundle.Anchors[:max(0, len(d.Bundle.Anchors)-1)] },
		"next published as if long ago": func(d *Domain) {
			if d.Signer.Next != nil && d.Bundle.Present && !slices.ContainsFunc(d.Bundle.Anchors, d.Signer.Next.Equal) {
				d.Bundle.Anchors = append(d.Bundle.Anchors, d.Signer.Next)
				d.Bundle.Annotations[AnnotationPublished] += " " + string(d.Signer.Next.Fingerprint) + "=" + stamp(start.Add(-day))
			}
		},
		"next said to be published": func(d *Domain) {
			if d.Signer.Next != nil && d.Bundle.Present {
				d.Bundle.Annotations[AnnotationPublished] += " " + string(d.Signer.Next.Fingerprint) + "=" + stamp(start.Add(-day))
			}
		},
		"the times of publication deleted": func(d *Domain) { delete(d.Bundle.Annotations, AnnotationPublished) },
		"next promoted":                    func(d *Domain) { promoteByHand(nil, d) },
		"next dropped":                     func(d *Domain) { d.Signer.Next = nil },
		"previous dropped":                 func(d *Domain) { d.Signer.Previous = nil },
		"the times of issue deleted": func(d *Domain) {
			for i := range d.Leaves {
				delete(d.Leaves[i].Annotations, AnnotationIssuedAt)
			}
		},
	}
	what := rapid.SampledFrom(sortedKeys(edits)).Draw(rt, "edit by hand")
	if (s.d.Signer.Next == nil || s.d.Signer.Active == nil) && what == "next promoted" {
		rt.Skip("nothing to promote")
	}
	if s.tries("by hand: "+what, edits[what]) {
		s.written("bundle", s.now)
	}
}

// configures makes one edit of the configuration, which the guard may refuse. At rest it tries only edits that do
// not change which members count, because the operator may change that.
func (s *sequence) configures(rt *rapid.T) {
	if s.unguarded {
		rt.Skip("nothing is configured")
	}
	flying := s.assess().Stage != Stable
	var names []string
	for _, name := range sortedKeys(sequenceEdits) {
		if (flying || sequenceEdits[name].atRest) && (s.often == nil || slices.Contains(s.often, name)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		rt.Skip("nothing to edit")
	}
	what := rapid.SampledFrom(names).Draw(rt, "edit")
	before, after := s.configuration(), s.configuration()
	d := after.Domains[0]
	party := rapid.SampledFrom(s.names()).Draw(rt, "party")
	edit := sequenceEdits[what]
	if !edit.make(s, d, party) {
		rt.Skip("nothing to edit")
	}
	if edit.gone {
		after.Domains = nil
	}
	if found := judgeConfiguration(s.rules, gateConfiguration, before, after, s.now).Violations; len(found) > 0 {
		s.logf("%s, %s: refused by %s", what, party, found[0].Invariant)
		return
	}
	s.logf("%s, %s", what, party)
	if edit.gone || d.Bundle.Name != s.d.Bundle.Name {
		s.unguarded = true
		return
	}
	if s.configured == nil {
		s.configured = s.d.Parties
	}
	s.d.Parties = d.Parties
	// A leaf that was removed from the domain is still presented.
	s.d.Leaves = slices.DeleteFunc(slices.Clone(s.d.Leaves), func(l Leaf) bool {
		return !slices.ContainsFunc(d.Leaves, func(kept Leaf) bool { return kept.Name == l.Name })
	})
	s.d.Released = d.Released
}

// configuration returns the present one, to which all objects consent.
func (s *sequence) configuration() *Configured {
	d := s.clone()
	d.Released = slices.Clone(d.Released)
	consent := func(o *Object) {
		if o.Present {
			record(o, Metadata{Annotations: map[string]string{AnnotationConfiguration: gateConfiguration}})
		}
	}
	consent(&d.Signer.Object)
	consent(&d.Bundle.Object)
	for i := range d.Leaves {
		consent(&d.Leaves[i].Object)
	}
	for i := range d.Parties {
		for k := range d.Parties[i].Members {
			m := &d.Parties[i].Members[k]
			m.Probes = slices.Clone(m.Probes)
		}
	}
	return &Configured{Domains: []*Domain{d}}
}

const liar = "liar"

type sequenceEdit struct {
	// atRest edits are also tried at rest. gone edits drop the domain.
	atRest, gone bool
	make         func(s *sequence, d *Domain, party string) bool
}

// ofParty edits a party if it is configured.
func ofParty(change func(p *Party) bool) func(*sequence, *Domain, string) bool {
	return func(_ *sequence, d *Domain, party string) bool {
		p := d.Party(party)
		return p != nil && change(p)
	}
}

func withoutLeaf(d *Domain, name string) bool {
	before := len(d.Leaves)
	d.Leaves = slices.DeleteFunc(d.Leaves, func(l Leaf) bool { return l.Name == name && l.Present })
	return len(d.Leaves) < before
}

var sequenceEdits = map[string]sequenceEdit{
	"domain dropped": {atRest: true, gone: true, make: func(s *sequence, _ *Domain, _ string) bool { return s.d.Signer.Active != nil && s.d.Bundle.Present }},
	"bundle renamed": {atRest: true, make: func(s *sequence, d *Domain, _ string) bool {
		d.Bundle = Bundle{Object: Object{Name: "other"}}
		return s.d.Signer.Active != nil && s.d.Bundle.Present
	}},
	"leaf claimed elsewhere": {atRest: true, make: func(_ *sequence, d *Domain, party string) bool { return withoutLeaf(d, party) }},
	"leaf released": {make: func(_ *sequence, d *Domain, party string) bool {
		d.Released = append(d.Released, party)
		return withoutLeaf(d, party)
	}},
	"party removed": {make: func(_ *sequence, d *Domain, party string) bool {
		before := len(d.Parties)
		d.Parties = slices.DeleteFunc(d.Parties, func(p Party) bool { return p.Name == party })
		return len(d.Parties) < before
	}},
	"party comes back otherwise": {make: func(s *sequence, d *Domain, _ string) bool {
		at := slices.IndexFunc(s.processes, func(p *process) bool { return d.Party(p.party.Name) == nil })
		if at < 0 {
			return false
		}
		p := *s.processes[at].party
		party := p.Name
		p.Members = []Member{*s.processes[at].member}
		if p.Kind == TLSProbe {
			p.Members[0].Probes = []Probe{{Address: liar, Presents: party}}
		} else {
			p.Reporters = &Reporters{Users: []string{liar}}
		}
		d.Parties = append(d.Parties, p)
		return true
	}},
	"probe moved": {make: ofParty(func(p *Party) bool {
		if len(p.Members[0].Probes) == 0 {
			return false
		}
		p.Members[0].Probes[0].Address = liar
		return true
	})},
	"address added": {make: ofParty(func(p *Party) bool {
		m := &p.Members[0]
		m.Probes = append(m.Probes, Probe{Address: liar, Presents: p.Name})
		return p.Kind == TLSProbe && len(m.Probes) == 2
	})},
	"reporter added": {make: ofParty(func(p *Party) bool {
		p.Reporters = &Reporters{Users: []string{p.Name, liar}}
		return p.Kind == Acknowledgement
	})},
	"hurried":          {make: ofParty(func(p *Party) bool { p.Kind, p.Grace, p.Lease = GracePeriod, 1, 0; return true })},
	"renewed":          {make: ofParty(func(p *Party) bool { p.Kind, p.Grace, p.Lease = Renewed, time.Second, 0; return true })},
	"none":             {make: ofParty(func(p *Party) bool { p.Kind, p.Reason = None, "in a hurry"; return true })},
	"verifies nothing": {make: ofParty(func(p *Party) bool { p.Verifies, p.VerifiesNothing = nil, true; return true })},
	"verifies less":    {make: ofParty(func(p *Party) bool { p.Verifies = p.Verifies[:max(0, len(p.Verifies)-1)]; return true })},
	"presents nothing": {make: ofParty(func(p *Party) bool { p.Members[0].Holds = nil; return true })},
	"grace longer":     {make: ofParty(func(p *Party) bool { p.Grace += time.Minute; return true })},
	"word for everybody": {make: func(_ *sequence, d *Domain, _ string) bool {
		p := Party{Name: "word", Kind: None, Members: []Member{{Name: "word"}}}
		for i := range d.Leaves {
			p.Verifies, p.Members[0].Holds = append(p.Verifies, d.Leaves[i].Name), append(p.Members[0].Holds, d.Leaves[i].Name)
		}
		d.Parties = append(d.Parties, p)
		return d.Party("word") != nil && len(d.Parties) < 7
	}},
	"times shrink": {make: func(_ *sequence, d *Domain, _ string) bool {
		d.Signer.Policy.Profile.Backdate = 0
		return true
	}},
}

// lies makes a liar report, wherever the configuration asks it, that everything is loaded.
func (s *sequence) lies(rt *rapid.T) {
	lied := false
	for i := range s.d.Parties {
		p := &s.d.Parties[i]
		for k := range p.Members {
			m := &p.Members[k]
			asked := p.Kind == Acknowledgement && p.Reporters != nil && slices.Contains(p.Reporters.Users, liar)
			at := slices.IndexFunc(m.Probes, func(probe Probe) bool { return probe.Address == liar })
			if !asked && (p.Kind != TLSProbe || at < 0) {
				continue
			}
			o := s.observation(p.Kind, m)
			for _, ca := range s.d.Bundle.Anchors {
				o.Trusts = append(o.Trusts, ca.Fingerprint)
			}
			for _, name := range m.Holds {
				if c := s.published(name); c != nil {
					o.Presents = append(o.Presents, c.Fingerprint)
				}
			}
			if at >= 0 {
				o.Instance, o.Address = liar, liar
			}
			m.Observations = append(slices.DeleteFunc(slices.Clone(m.Observations), func(was Observation) bool { return was.Instance == o.Instance }), o)
			lied = true
			s.logf("a liar says that %s has loaded everything", p.Name)
		}
	}
	if !lied {
		rt.Skip("nobody asks a liar")
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
