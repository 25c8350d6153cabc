// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// behind reports whether the member is not yet proven to have followed. It is false while one of its leaves is not
// yet issued, as in a bootstrap.
func (s *subject) behind(a *assessed) bool {
	return a.late[lateMember{s.party, s.target.member}] && a.Newest != nil && !s.unissued()
}

// lags reports whether the member is behind according to a new observation.
func (s *subject) lags(seen []trust.Observation, now time.Time) bool {
	after := s.with(seen)
	return after.behind(assess(after.d, now))
}

// needed names the leaves that the member presents and the client leaves of its probes.
func (s *subject) needed() []string {
	names := slices.Clone(s.member.Holds)
	for i := range s.member.Probes {
		names = append(names, s.member.Probes[i].ClientLeaf)
	}
	return names
}

func (s *subject) unissued() bool {
	needed := s.needed()
	return slices.ContainsFunc(s.d.Leaves, func(l trust.Leaf) bool {
		return l.Certificate == nil && slices.Contains(needed, l.Name)
	})
}

// expectation returns a text that changes when there is something new to observe: what the member is and should have
// loaded. For a pod, it includes what runs and where. It also includes what the static pod of the same name is known
// to run, because a change shows in a handshake.
func (s *subject) expectation(n *inventory.Namespace, a *assessed) string {
	var parts []string
	if a.Newest != nil {
		parts = append(parts, string(a.Newest.Fingerprint))
	}
	for _, name := range s.needed() {
		for i := range s.d.Leaves {
			if l := &s.d.Leaves[i]; l.Name == name && l.Certificate != nil {
				parts = append(parts, string(l.Certificate.Fingerprint))
			}
		}
	}
	if pod := s.member.Pod; pod != nil {
		parts = append(parts, pod.Process)
		for i := range s.member.Probes {
			parts = append(parts, s.member.Probes[i].Address, s.member.Probes[i].Unknown)
		}
		if !s.probed() {
			parts = append(parts, s.startText())
		}
		return strings.Join(parts, "\n")
	}
	if s.placed() {
		return strings.Join(append(parts, s.placementText(n)), "\n")
	}
	for i := range s.d.Parties {
		if s.d.Parties[i].Kind.PerNode() {
			parts = append(parts, s.runs(&s.d.Parties[i]))
		}
	}
	return strings.Join(parts, "\n")
}

// runs describes what the static pod of the same name runs with. It is empty if that is unknown.
func (s *subject) runs(p *trust.Party) string {
	var parts []string
	for i := range p.Members {
		m := &p.Members[i]
		if m.Name != s.target.member {
			continue
		}
		for j := range m.Observations {
			o := &m.Observations[j]
			parts = append(parts, fmt.Sprint(o.Instance, o.Trusts, o.Presents))
		}
	}
	return strings.Join(parts, "\n")
}
