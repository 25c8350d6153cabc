// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// domainRecords is the content of the records of one trust domain.
type domainRecords struct {
	requests []trust.Request
	roster   *trust.Roster
	waivers  []trust.Waiver
	refusals []trust.RefusedWrite
	// clockSkew of the controller, while it reports that its clock is off. lookedAt is when it last looked at the
	// domain.
	clockSkew time.Duration
	lookedAt  time.Time
	evidence  map[memberKey][]trust.Observation
	// evidenceRecords are the records that evidence comes from, ordered by name.
	evidenceRecords []trust.EvidenceRecord
	// unreadable is why the members that count are unknown, nil if they are known.
	unreadable *trust.Problem
}

type memberKey struct{ party, member string }

// recordsByDomain sorts the records of a namespace by trust domain. Records without a domain are about objects that span
// several.
func recordsByDomain(records map[string]*Record) map[string]*domainRecords {
	out := map[string]*domainRecords{}
	for _, name := range sortedNames(records) {
		r := records[name]
		of := out[r.Domain]
		if of == nil {
			of = &domainRecords{evidence: map[memberKey][]trust.Observation{}}
			out[r.Domain] = of
		}
		of.add(r)
	}
	for _, of := range out {
		of.sort()
	}
	return out
}

func (m *domainRecords) add(r *Record) {
	if r.Said == nil {
		// An unreadable roster does not mean that no member counts.
		if isRoster(r) {
			m.unreadable = unreadable(r)
		}
		return
	}
	switch said := r.Said; said.Kind {
	case configv1alpha1.RecordRequest:
		m.requests = append(m.requests, *said.Request)
	case configv1alpha1.RecordRoster:
		m.roster = said.Roster
	case configv1alpha1.RecordWaiver:
		m.waivers = append(m.waivers, *said.Waiver)
	case configv1alpha1.RecordEvidence:
		m.evidence[memberKey{party: said.Evidence.Party, member: said.Evidence.Member}] = said.Evidence.Observations
		m.evidenceRecords = append(m.evidenceRecords, evidenceRecord(r))
	case configv1alpha1.RecordRefusal:
		m.refusals = append(m.refusals, *said.Refusal)
	case configv1alpha1.RecordClock:
		m.clockSkew, m.lookedAt = said.ClockSkew, said.LookedAt
	}
}

func evidenceRecord(r *Record) trust.EvidenceRecord {
	out := trust.EvidenceRecord{
		Record: r.Name, UID: string(r.UID), ResourceVersion: r.ResourceVersion, Party: r.Said.Evidence.Party, Member: r.Said.Evidence.Member,
	}
	for i := range r.Said.Evidence.Observations {
		out.Expires = later(out.Expires, r.Said.Evidence.Observations[i].Expires)
	}
	return out
}

func (m *domainRecords) sort() {
	slices.SortFunc(m.requests, func(x, y trust.Request) int {
		return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Secret, y.Secret))
	})
	slices.SortFunc(m.waivers, func(x, y trust.Waiver) int {
		return cmp.Or(cmp.Compare(x.Party, y.Party), cmp.Compare(x.Member, y.Member))
	})
	slices.SortFunc(m.refusals, func(x, y trust.RefusedWrite) int { return cmp.Compare(x.Object, y.Object) })
}

// known returns the roster with the observations of its members. The record itself is shared and stays unchanged.
func (m *domainRecords) known() *trust.Roster {
	if m.roster == nil {
		return nil
	}
	out := *m.roster
	out.Members = slices.Clone(out.Members)
	for i := range out.Members {
		member := &out.Members[i]
		member.Observations = m.evidence[memberKey{party: member.Party, member: member.Member}]
	}
	return &out
}

// remember fills in the records of a domain. A refused write of an object that spans domains concerns the domains of
// the configuration that claims it.
func (b *builder) remember(out *trust.Domain, p *part) {
	if of := b.records[out.Name]; of != nil {
		out.Requests, out.Roster, out.Waivers = of.requests, of.known(), of.waivers
		out.Refusals = slices.Clone(of.refusals)
		out.RosterProblem = of.unreadable
		out.Evidence = of.evidenceRecords
		out.ClockSkew, out.LookedAt = of.clockSkew, of.lookedAt
	}
	if b.sources.ClockSkew != nil {
		out.ClockSkew = *b.sources.ClockSkew
	}
	spanning := b.records[""]
	if spanning == nil {
		return
	}
	for _, refusal := range spanning.refusals {
		kind, name, _ := strings.Cut(refusal.Object, "/")
		if _, claimed := p.claims[objectKey{kind: trust.ObjectKind(kind), name: name}]; claimed {
			out.Refusals = append(out.Refusals, refusal)
		}
	}
	slices.SortFunc(out.Refusals, func(x, y trust.RefusedWrite) int { return cmp.Compare(x.Object, y.Object) })
}

// observations returns the observations of a member, ordered by instance.
func (b *builder) observations(domain, party, member string) []trust.Observation {
	if of := b.records[domain]; of != nil {
		return of.evidence[memberKey{party: party, member: member}]
	}
	return nil
}

// refuseRecords adds a problem for each record that cannot be read.
func (b *builder) refuseRecords() {
	// Not sorted: there may be thousands of records, mostly readable, and Build sorts the problems.
	for _, r := range b.sources.Records {
		if r.Said == nil {
			b.problems = append(b.problems, *unreadable(r))
		}
	}
}

// isRoster reports whether a record is a roster by its kind or by its name.
func isRoster(r *Record) bool {
	return r.Kind == configv1alpha1.RecordRoster || r.Name == record.RosterName(r.Domain)
}

func unreadable(r *Record) *trust.Problem {
	step := "delete it; evidence is written anew when its member is observed, anything else has to be asked for again"
	if isRoster(r) {
		step = "put it right: without it the members are unknown"
	}
	return problemOf(trust.RecordKind, r.Name, ReasonInvalidRecord, fmt.Sprintf("the record counts for nothing: %s; %s", r.Error, step))
}

// passRestarts sets the start of a node's static pod on the members of a domain that are probed on that node. A probe
// of an earlier process proves nothing about the running one.
//
// The start is by the clock of the node. A clock that is ahead would make every probe look old, so the start counts
// as no later than its observation.
func passRestarts(parties []trust.Party) {
	started := map[string]time.Time{}
	for i := range parties {
		if !parties[i].Kind.PerNode() {
			continue
		}
		for _, m := range parties[i].Members {
			for i := range m.Observations {
				if start := startOf(&m.Observations[i]); start.After(started[m.Name]) {
					started[m.Name] = start
				}
			}
		}
	}
	for i := range parties {
		if !parties[i].Kind.ByHandshake() {
			continue
		}
		for j := range parties[i].Members {
			if m := &parties[i].Members[j]; m.Pod == nil {
				m.RestartedAt = started[m.Name]
			}
		}
	}
}

func startOf(o *trust.Observation) time.Time {
	if o.StartedAt.After(o.ObservedAt) {
		return o.ObservedAt
	}
	return o.StartedAt
}
