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

// behind says whether the member is not proven to have followed. Until a leaf exists that it presents, or that it is probed
// with, as in a bootstrap, it cannot be.
func (s *subject) behind(a *trust.Assessment) bool {
	if a.Newest == nil || s.unissued() {
		return false
	}
	for _, m := range a.Members {
		if m.Party == s.party && m.Member == s.target.member {
			return !m.Trusted || !m.Delivered
		}
	}
	return false
}

// lags says whether the member is behind by what was just seen of it.
func (s *subject) lags(seen []trust.Observation, now time.Time) bool {
	after := s.with(seen)
	return after.behind(trust.Assess(after.d, now))
}

// needed are the names of the leaves that the member presents, and is probed with.
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

// expectation names what the member is, and what it is expected to have loaded. Where its static pod is known to run what
// was placed on its node, what that is counts too: when it changes, there is something new to see in a handshake. Of a pod it
// is what runs, and where.
func (s *subject) expectation(n *inventory.Namespace, a *trust.Assessment) string {
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
		if s.d.Parties[i].Kind == trust.StaticPodRevision {
			parts = append(parts, s.runs(&s.d.Parties[i]))
		}
	}
	return strings.Join(parts, "\n")
}

// runs names what the static pod of the same name runs with, "" if that is not known.
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
