// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// subject is a member that is observed, in its domain.
type subject struct {
	target
	d       *trust.Domain
	relying *trust.Party
	member  *trust.Member
}

// observed lists the members of a domain that somebody has to look at.
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

// lookedAt says whether the kind of evidence of a member is one that somebody has to look for.
func lookedAt(p *trust.Party, m *trust.Member) bool {
	switch p.Kind {
	case trust.StaticPodRevision, trust.CABundle:
		return true
	case trust.WorkloadRollout, trust.Mounted:
		return m.Pod != nil
	case trust.TLSProbe, trust.Acknowledgement, trust.GracePeriod, trust.Renewed, trust.None:
	}
	return len(m.Probes) > 0
}

// runs says whether there is somebody to look at: of a pod that was not started yet, or between two starts, no container
// runs. What it runs next is looked at when it does.
func runs(m *trust.Member) bool { return m.Pod == nil || m.Pod.Process != "" }

// observable says whether somebody has to look at a member.
func observable(p *trust.Party, m *trust.Member) bool {
	return runs(m) && lookedAt(p, m)
}

// find is the one of observed that has that name, nil if there is none.
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

// probed says whether the member is looked at in a handshake; what others run with is read from the API server.
func (s *subject) probed() bool { return len(s.member.Probes) > 0 }

// placed says whether the member is a static pod that a rollout places on its node.
func (s *subject) placed() bool { return s.relying.Kind == trust.StaticPodRevision }

// targeted says whether the member is an object of the cluster with a caBundle.
func (s *subject) targeted() bool { return s.relying.Kind == trust.CABundle }

// told says whether a watch tells when the member is to be looked at; others are asked at intervals.
func (s *subject) told() bool { return !s.probed() && !s.targeted() }

// known is what is known of a process, nil if nothing is or if it was too long ago.
func (s *subject) known(instance string, now time.Time) *trust.Observation {
	for i := range s.member.Observations {
		o := &s.member.Observations[i]
		if o.Instance == instance && s.live(o, now) {
			return o
		}
	}
	return nil
}

// live says whether an observation is evidence of the kind that is asked for, of the member as it runs now, and has not
// ended.
func (s *subject) live(o *trust.Observation, now time.Time) bool {
	return o.Kind == s.relying.Kind && o.Expires.After(now) && s.member.Runs(o)
}

// with is the subject as it would be with other observations.
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
