// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"certrotation.dev/test/property"
)

// serverPresents has the first server present the leaf of somebody else too.
func (f *fleet) serverPresents(leaf string) {
	m := &f.party("server-0").Members[0]
	m.Holds = append(slices.Clone(m.Holds), leaf)
}

// stillSaid returns who still counts by the answer to the edit that has made the fleet of that domain.
func (f *fleet) stillSaid(before *Domain) []string {
	judged := JudgeConfiguration(gateConfiguration, &Configured{Domains: []*Domain{before}}, &Configured{Domains: []*Domain{f.clone()}}, f.now)
	return slices.DeleteFunc(judged.Consequences, func(s string) bool { return !strings.Contains(s, "still counts") })
}

// TestWhoStillCountsIsSaid: who counts after an edit at rest is what its consequences say, and what they name as a
// release is what ends it, all of it.
func TestWhoStillCountsIsSaid(t *testing.T) {
	target := guard.Member()
	for name, tt := range map[string]struct {
		edit     func(f *fleet)
		member   string
		releases []string
	}{
		"a node is not chosen any more": {
			edit: func(f *fleet) { f.party("client-0").Members = nil }, member: "client-0",
			releases: []string{"releasedMembers: [client-0/client-0]", "releasedLeaves: [client-0]"},
		},
		"a node is not chosen any more, and another one presents its leaf": {
			edit: func(f *fleet) {
				f.party("client-0").Members = nil
				f.serverPresents("client-0")
			}, member: "client-0", releases: []string{"releasedMembers: [client-0/client-0]"},
		},
		"the party of a node is removed": {edit: func(f *fleet) { f.remove("client-0") }, member: "client-0", releases: []string{"releasedLeaves: [client-0]"}},
		"the party of a node is removed, and another one presents its leaf": {edit: func(f *fleet) {
			f.remove("client-0")
			f.serverPresents("client-0")
		}},
		"a party of no nodes is removed":   {edit: func(f *fleet) { f.remove("server-0") }},
		"a target is removed":              {edit: func(f *fleet) { f.party("kube-apiserver").Members = nil }},
		"the party of a target is removed": {edit: func(f *fleet) { f.remove("kube-apiserver") }},
	} {
		t.Run(name, func(t *testing.T) {
			// after is a fleet after the edit and these releases, and who still counts by the answer to the edit.
			after := func(releases []string) (*fleet, []string) {
				f := mutual(t)
				f.onNode("client-0", "uid")
				f.d.Bundle.InjectInto = []InjectionTarget{guard}
				f.d.Parties = append(f.d.Parties, Party{Name: "kube-apiserver", Kind: CABundle, Verifies: []string{"server-0"}, Members: []Member{{Name: target}}})
				f.world.holds(f.now, f.d.Signer.Active)
				f.until(RecordRoster)
				f.settle()
				before := f.clone()
				tt.edit(f)
				said := f.stillSaid(before)
				for _, release := range releases {
					field, name, _ := strings.Cut(strings.TrimSuffix(release, "]"), ": [")
					list := map[string]*[]string{"releasedMembers": &f.d.ReleasedMembers, "releasedLeaves": &f.d.Released}[field]
					*list = append(*list, name)
				}
				f.request("test")
				f.settle()
				return f, said
			}
			waits := func(f *fleet) bool {
				configured := func(b Blocker) bool {
					p := f.d.Party(b.Party)
					return p != nil && slices.ContainsFunc(p.Members, func(m Member) bool { return m.Name == b.Member })
				}
				return slices.ContainsFunc(f.assess().Blockers, func(b Blocker) bool { return b.Party != "" && !configured(b) })
			}
			f, said := after(nil)
			var want []string
			if tt.member != "" {
				want = []string{fmt.Sprintf("trust domain service: %s still counts until it is seen to be gone, waived, or released by %s",
					tt.member, strings.Join(tt.releases, " and "))}
			}
			if !slices.Equal(said, want) {
				t.Errorf("said %q, want %q", said, want)
			}
			if waits(f) != (tt.member != "") {
				t.Errorf("the next rotation waits: %t, blockers %+v", waits(f), f.assess().Blockers)
			}
			for i := range tt.releases {
				if f, _ := after(slices.Delete(slices.Clone(tt.releases), i, i+1)); !waits(f) {
					t.Errorf("without %s it does not count either", tt.releases[i])
				}
			}
			if f, _ := after(tt.releases); waits(f) {
				t.Errorf("it still counts: %+v", f.assess().Blockers)
			}
		})
	}
}

// TestWhoStillCountsByChance: the same for any edit at rest of any parties.
func TestWhoStillCountsByChance(t *testing.T) {
	property.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]EvidenceKind{TLSProbe, Acknowledgement}), 1, 2)
		f := newFleet(rt, topology{servers: kinds.Draw(rt, "servers"), clients: kinds.Draw(rt, "clients")})
		for i := range f.d.Parties {
			if rapid.Bool().Draw(rt, "node") {
				f.onNode(f.d.Parties[i].Name, "uid")
			}
		}
		f.settle()
		before := f.clone()
		for _, name := range f.names() {
			switch p := f.party(name); rapid.SampledFrom([]string{"stays", "removed", "unselected", "presents", "member", "leaf"}).Draw(rt, "edit") {
			case "removed":
				f.remove(name)
			case "unselected":
				p.Members = nil
			case "presents":
				for k := range p.Members {
					p.Members[k].Holds = f.names()
				}
			case "member":
				f.d.ReleasedMembers = append(f.d.ReleasedMembers, name+"/"+name)
			case "leaf":
				f.d.Released = append(f.d.Released, name)
			}
		}
		said := map[string]bool{}
		for _, text := range f.stillSaid(before) {
			name, _, _ := strings.Cut(strings.TrimPrefix(text, "trust domain service: "), " still counts")
			said[name] = true
		}
		f.request("test")
		f.settle()
		counts := map[string]bool{}
		for _, m := range f.assess().Members {
			if p := f.d.Party(m.Party); p == nil || len(p.Members) == 0 {
				counts[MemberName(m.Party, m.Member)] = true
			}
		}
		if !maps.Equal(said, counts) {
			rt.Fatalf("said to count %v, and %v do", said, counts)
		}
	})
}
