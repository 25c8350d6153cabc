// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// subject is an observed member in its domain.
type subject struct {
	target
	d       *trust.Domain
	relying *trust.Party
	member  *trust.Member
}

// observed lists the members of a domain that need observation.
func observed(d *trust.Domain) []*subject {
	if d == nil {
		return nil
	}
	var out []*subject
	for i := range d.Parties {
		p := &d.Parties[i]
		for j := range p.Members {
			if m := &p.Members[j]; observable(p, m) {
				out = append(out, &subject{
					target: target{namespace: d.Namespace, domain: d.Name, party: p.Name, member: m.Name}, d: d, relying: p, member: m,
				})
			}
		}
	}
	return out
}

// runs reports whether there is a process to observe. A pod that has not started, or is between two starts, has no
// running container; its next start triggers an observation.
func runs(m *trust.Member) bool { return m.Pod == nil || m.Pod.Process != "" }

// observable reports whether a member needs observation now.
func observable(p *trust.Party, m *trust.Member) bool {
	o := observerOf(p.Kind)
	return o != nil && o.has(m) && runs(m)
}

// find returns the observed subject of t, or nil.
func find(d *trust.Domain, t target) *subject {
	if d == nil || d.Namespace != t.namespace || d.Name != t.domain {
		return nil
	}
	for i := range d.Parties {
		p := &d.Parties[i]
		if p.Name != t.party {
			continue
		}
		for j := range p.Members {
			if m := &p.Members[j]; m.Name == t.member && observable(p, m) {
				return &subject{target: t, d: d, relying: p, member: m}
			}
		}
	}
	return nil
}

// probed reports whether the member is observed by handshakes. Others are read from the API server.
func (s *subject) probed() bool { return len(s.member.Probes) > 0 }

// placed reports whether the member is a static pod that a rollout places on its node.
func (s *subject) placed() bool { return s.relying.Kind.PerNode() }

// targeted reports whether the member is an object with a caBundle.
func (s *subject) targeted() bool { return s.relying.Kind.OfTargets() }

// told reports whether a watch triggers the member's observations. Other members are polled.
func (s *subject) told() bool { return !s.probed() && !s.targeted() }

// known returns the live observation of a process, or nil.
func (s *subject) known(instance string, now time.Time) *trust.Observation {
	for i := range s.member.Observations {
		o := &s.member.Observations[i]
		if o.Instance == instance && s.live(o, now) {
			return o
		}
	}
	return nil
}

// live reports whether an observation is of the required kind, about the member as it runs now, and not expired.
func (s *subject) live(o *trust.Observation, now time.Time) bool {
	return o.Kind == s.relying.Kind && o.Expires.After(now) && s.member.Runs(o)
}

// with returns a copy of the subject with other observations.
func (s *subject) with(observations []trust.Observation) *subject {
	d := *s.d
	d.Parties = slices.Clone(d.Parties)
	for i := range d.Parties {
		p := &d.Parties[i]
		if p.Name != s.party {
			continue
		}
		p.Members = slices.Clone(p.Members)
		for j := range p.Members {
			if m := &p.Members[j]; m.Name == s.target.member {
				m.Observations = observations
			}
		}
	}
	return find(&d, s.target)
}
