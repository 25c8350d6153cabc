// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/evidence"
	"certrotation.dev/registry/trust"
)

// memberships of a process in the parties of all domains.
func (w *world) memberships(name string) []membership {
	var out []membership
	for _, d := range w.domains().Domains {
		for i := range d.Parties {
			for k := range d.Parties[i].Members {
				if d.Parties[i].Members[k].Name == name {
					out = append(out, membership{domain: d.Name, party: d.Parties[i].Name, member: name})
				}
			}
		}
	}
	return out
}

// look is what can be seen of a process in one of its parties; nil for kinds that go without.
func (w *world) look(m membership) *trust.Observation {
	d, p := w.domain(m.domain), w.process(m.member)
	if d == nil || p == nil || !p.up || p.pools[m.domain] == nil {
		return nil
	}
	party := partyOf(d, m.party)
	if party == nil {
		return nil
	}
	o := &trust.Observation{ObservedAt: w.clock.now()}
	switch party.Kind {
	case trust.TLSProbe:
		for _, ca := range p.pools[m.domain].anchors {
			o.TrustedSubjects = append(o.TrustedSubjects, ca.SubjectHash)
		}
	case trust.Acknowledgement:
		o.StartedAt = p.startedAt
		for _, ca := range p.pools[m.domain].anchors {
			o.Trusts = append(o.Trusts, ca.Fingerprint)
		}
	default:
		return nil
	}
	for _, name := range w.held(d, m.member) {
		if c := p.leaves[name]; c != nil {
			o.Presents = append(o.Presents, c.Fingerprint)
		}
	}
	return o
}

// probe looks at a member at once, as controller/evidence does: what does not answer is recorded as a failure, with what
// was seen before.
func (w *world) probe(domain, party, member string) {
	m := membership{domain: domain, party: party, member: member}
	o := w.look(m)
	if p := w.process(member); o == nil || !p.reachable {
		before := w.recorded(m)
		o = &trust.Observation{ObservedAt: w.clock.now(), Failure: "it does not answer in time"}
		if before != nil {
			o.TrustedSubjects, o.Presents = before.TrustedSubjects, before.Presents
		}
	}
	w.record(m, o)
}

// acknowledge delivers a report, which the API may refuse.
func (w *world) acknowledge(m membership, o *trust.Observation) {
	d := w.domain(m.domain)
	if d == nil || trust.CheckAcknowledgement(d, m.party, m.member, o) != nil {
		return
	}
	w.record(m, o)
}

// recorded is what is recorded of a member, nil if nothing is.
func (w *world) recorded(m membership) *trust.Observation {
	cm := w.api.latest().ConfigMaps[evidence.RecordName(m.domain, m.party, m.member)]
	if cm == nil || cm.Evidence == nil {
		return nil
	}
	return cm.Evidence.Observation
}

// record writes an observation, if it says anything new. Its time also counts as news, if the process was restarted.
func (w *world) record(m membership, o *trust.Observation) {
	before := w.recorded(m)
	if p := w.process(m.member); before != nil && evidence.Same(before, o) && p != nil && !before.ObservedAt.Before(p.startedAt) {
		return
	}
	data, labels := evidence.Encode(m.domain, m.party, m.member, o)
	w.api.putConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: evidence.RecordName(m.domain, m.party, m.member), Labels: maps.Clone(labels)}, Data: data,
	}, w.clock.now())
}

// observe looks at a process in all of its parties and records what it sees at once.
func (w *world) observe(p *process) {
	for _, m := range w.memberships(p.name) {
		switch partyOf(w.domain(m.domain), m.party).Kind {
		case trust.TLSProbe:
			w.probe(m.domain, m.party, m.member)
		case trust.Acknowledgement:
			if o := w.look(m); o != nil && p.reachable {
				w.acknowledge(m, o)
			}
		default:
			// The other kinds are not observed.
		}
	}
}

// seen adds to a domain what is seen of the members' restarts.
func (w *world) seen(d *trust.Domain) *trust.Domain {
	out := *d
	out.Parties = slices.Clone(d.Parties)
	for i := range out.Parties {
		p := &out.Parties[i]
		p.Members = slices.Clone(p.Members)
		for k := range p.Members {
			if running := w.process(p.Members[k].Name); running != nil {
				p.Members[k].RestartedAt = running.startedAt
			}
		}
	}
	return &out
}

func partyOf(d *trust.Domain, name string) *trust.Party {
	for i := range d.Parties {
		if d.Parties[i].Name == name {
			return &d.Parties[i]
		}
	}
	return nil
}
