// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

// Leases as production stamps them.
const (
	probeLease  = 5 * time.Minute
	reportLease = time.Hour
)

// kindOf returns the evidence of a member: as configured, else as recorded. A member that is recorded as reporting
// reports, whatever the configuration says.
func (w *world) kindOf(m membership) trust.EvidenceKind {
	d := w.domain(m.domain)
	if d == nil {
		return ""
	}
	var kind trust.EvidenceKind
	if p, _ := memberOf(d, m); p != nil {
		kind = p.Kind
	}
	for i := range d.Parties {
		// Pods know the evidence of their party before an informer shows them.
		if p := &d.Parties[i]; p.OfPods && p.Name == m.party && kind == "" {
			kind = p.Kind
		}
	}
	if d.Roster == nil {
		return kind
	}
	for i := range d.Roster.Members {
		if r := &d.Roster.Members[i]; r.Party == m.party && r.Member == m.member && (kind == "" || r.Kind == trust.Acknowledgement) {
			kind = r.Kind
		}
	}
	return kind
}

func memberOf(d *trust.Domain, m membership) (*trust.Party, *trust.Member) {
	for i := range d.Parties {
		for k := range d.Parties[i].Members {
			if d.Parties[i].Name == m.party && d.Parties[i].Members[k].Name == m.member {
				return &d.Parties[i], &d.Parties[i].Members[k]
			}
		}
	}
	return nil, nil
}

// sight returns what can be observed of a process in one of its parties, at this moment.
func (w *world) sight(p *process, m membership, kind trust.EvidenceKind) *trust.Observation {
	o := &trust.Observation{Instance: p.instance(), Kind: kind, ObservedAt: w.clock.now()}
	if anchors := p.pools[m.domain]; anchors != nil {
		for _, ca := range anchors.anchors {
			switch {
			case o.Kind != trust.TLSProbe:
				o.Trusts = append(o.Trusts, ca.Fingerprint)
			case !w.topology.handshake:
				o.TrustedSubjects = append(o.TrustedSubjects, ca.SubjectHash)
			case w.signable(m.domain, ca):
				o.Trusts = append(o.Trusts, ca.Fingerprint)
			}
		}
	}
	for _, name := range p.held(m.domain) {
		if c := p.leaves[name]; c != nil {
			o.Presents = append(o.Presents, c.Fingerprint)
		}
	}
	if o.Kind == trust.TLSProbe {
		o.RecoveredUntil = w.recoveredUntil(p, m)
	}
	return o
}

// signable reports whether a probe can present a leaf of a CA. The issuer has no key of its former CAs.
func (w *world) signable(domain string, ca *pki.Certificate) bool {
	d := w.domain(domain)
	return d.Signer.Issued == nil || ca.Equal(d.Signer.Issued.Certificate)
}

// probe probes all processes of a member at once, as controller/evidence does. A process that does not answer is
// recorded as a failure, with the leaves that it may still present.
func (w *world) probe(m membership) {
	d := w.domain(m.domain)
	if d == nil {
		return
	}
	party, member := memberOf(d, m)
	switch {
	case member == nil:
		return
	case party.Kind == trust.WorkloadRollout:
		w.lookStarted(d, party, member)
		return
	case party.Kind == trust.CABundle:
		w.lookTarget(m)
		return
	case len(member.Probes) == 0:
		return
	}
	address := member.Probes[0].Address
	var seen []trust.Observation
	for _, p := range w.processesOf(m.member) {
		if o := w.probeOne(p, m, address); o != nil {
			seen = append(seen, *o)
		}
	}
	if len(seen) == 0 {
		seen = append(seen, *w.unanswered(m, address, ""))
	}
	if w.topology.balanced {
		seen = []trust.Observation{*together(seen, address)}
	}
	slices.SortFunc(seen, func(x, y trust.Observation) int { return cmp.Compare(x.Instance, y.Instance) })
	for i := range seen {
		seen[i].Expires = w.clock.now().Add(probeLease)
	}
	w.record(m, seen)
}

func (w *world) probeOne(p *process, m membership, address string) *trust.Observation {
	instance := fmt.Sprintf("%s@%d", address, p.number)
	if p.pod != nil {
		instance = p.pod.process()
	}
	switch {
	case !p.up && p.number > 0:
		return nil
	case !p.up, !p.reachable:
		return w.unanswered(m, address, instance)
	}
	o := w.sight(p, m, trust.TLSProbe)
	o.Instance, o.Address = instance, address
	return o
}

func (w *world) unanswered(m membership, address, instance string) *trust.Observation {
	o := &trust.Observation{
		Instance: instance, Address: address, Kind: trust.TLSProbe, ObservedAt: w.clock.now(), Failure: "it does not answer in time",
	}
	if instance == "" {
		o.Instance = address
	}
	for _, before := range w.recorded(m) {
		if before.Address == address && before.Expires.After(w.clock.now()) && (instance == "" || w.topology.balanced || before.Instance == instance) {
			for _, f := range before.Presents {
				if !slices.Contains(o.Presents, f) {
					o.Presents = append(o.Presents, f)
				}
			}
		}
	}
	return o
}

// together sums up a burst of probes of one address: what all processes accept, and what any of them presents.
func together(seen []trust.Observation, address string) *trust.Observation {
	sum := seen[0]
	sum.Instance = address
	for i := range seen[1:] {
		o := &seen[1:][i]
		differ := !slices.Equal(sum.Trusts, o.Trusts) || !slices.Equal(sum.TrustedSubjects, o.TrustedSubjects) || !slices.Equal(sum.Presents, o.Presents)
		sum.Trusts = common(sum.Trusts, o.Trusts)
		sum.TrustedSubjects = common(sum.TrustedSubjects, o.TrustedSubjects)
		for _, f := range o.Presents {
			if !slices.Contains(sum.Presents, f) {
				sum.Presents = append(slices.Clone(sum.Presents), f)
			}
		}
		switch {
		case o.Failure != "":
			sum.Failure = o.Failure
		case differ && sum.Failure == "":
			sum.Failure = "several processes answer, and they differ"
		}
	}
	return &sum
}

func common[T comparable](a, b []T) []T {
	return slices.DeleteFunc(slices.Clone(a), func(x T) bool { return !slices.Contains(b, x) })
}

// probeAll probes every member of a domain that is observed from outside.
func (w *world) probeAll(d *trust.Domain) {
	for i := range d.Parties {
		p := &d.Parties[i]
		if p.Kind != trust.TLSProbe && p.Kind != trust.WorkloadRollout && p.Kind != trust.CABundle {
			continue
		}
		for k := range p.Members {
			w.probe(membership{domain: d.Name, party: p.Name, member: p.Members[k].Name})
		}
	}
}

// acknowledge delivers an account's report, which the API may refuse. It reports whether the API took it.
func (w *world) acknowledge(m membership, o *trust.Observation, by *trust.Account) bool {
	d, now := w.domain(m.domain), w.clock.now()
	if d == nil {
		return false
	}
	if err := cmp.Or(w.mayReport(d, m, o, by), trust.CheckAcknowledgement(d, m.party, m.member, o, now)); err != nil {
		w.counts.event(refusedReport)
		return false
	}
	recorded := *o
	if recorded.ObservedAt.After(now) {
		recorded.ObservedAt = now
	}
	recorded.Expires, recorded.ReportedBy = now.Add(reportLease), m.member
	known := w.recorded(m)
	former := record.Standing(known, &recorded, now, func() bool { return w.inFlight(m.domain) })
	if former == nil || trust.BeforeRestart(d, m.party, m.member, former) {
		w.write(m, record.Replaced(known, &recorded, now))
	}
	return true
}

// reportNow reports what a process has loaded. The first report is kept for a replay.
func (w *world) reportNow(p *process, m membership) {
	o := w.reportOf(p, m)
	if w.acknowledge(m, o, w.accountOf(p)) && p.replay[m] == nil {
		p.replay[m] = o
	}
}

func (w *world) recorded(m membership) []trust.Observation {
	r := w.api.latest().Records[record.EvidenceName(m.domain, m.party, m.member)]
	if r == nil || r.Said == nil || r.Said.Evidence == nil {
		return nil
	}
	return r.Said.Evidence.Observations
}

// record writes what was observed of a member if it is news. In flight it also does so when half of a lease is
// over.
func (w *world) record(m membership, seen []trust.Observation) {
	known := w.recorded(m)
	same := slices.EqualFunc(known, seen, func(x, y trust.Observation) bool { return record.Same(&x, &y) })
	if same && !(w.inFlight(m.domain) && slices.ContainsFunc(known, func(o trust.Observation) bool { return record.RenewalDue(&o, w.clock.now()) })) {
		return
	}
	w.write(m, seen)
}

func (w *world) write(m membership, seen []trust.Observation) {
	made, err := record.OfEvidence(namespace, m.domain, m.party, m.member, seen)
	if err != nil {
		w.breaks(fmt.Errorf("record the evidence of %v: %w", m, err))
		return
	}
	w.api.putRecord(made, w.clock.now())
}

// inFlight reports whether an assessment at this moment shows a rotation.
func (w *world) inFlight(domain string) bool {
	d, now := w.domain(domain), w.clock.now()
	if d == nil {
		return false
	}
	if w.flight.of != d || !w.flight.at.Equal(now) {
		w.flight = flight{of: d, at: now, is: trust.Assess(d, now).InFlight()}
	}
	return w.flight.is
}

// flight is whether a domain is in flight at a moment.
type flight struct {
	of *trust.Domain
	at time.Time
	is bool
}

// observe probes a process in all of its parties, or has it report.
func (w *world) observe(p *process) {
	for _, m := range p.memberships() {
		w.probe(m)
		if w.kindOf(m) == trust.Acknowledgement && p.up && p.reachable {
			w.reportNow(p, m)
		}
	}
}

func (w *world) reportOf(p *process, m membership) *trust.Observation {
	o := w.sight(p, m, trust.Acknowledgement)
	o.StartedAt = p.startedAt
	return o
}

// keepReporting makes processes report again before their leases end. One that cannot ends: a process must not take
// traffic if it is not known to trust an anchor.
func (w *world) keepReporting() {
	now := w.clock.now()
	for _, p := range slices.Clone(w.processes) {
		if !p.up || !w.reporting(p) || now.Before(p.reportedAt.Add(reportLease/2)) {
			continue
		}
		for _, m := range p.memberships() {
			if p.reachable && w.kindOf(m) == trust.Acknowledgement {
				w.reportNow(p, m)
			}
		}
		if p.reachable {
			p.reportedAt = now
		} else if !now.Before(p.reportedAt.Add(reportLease)) {
			w.say("%s ends, as it could not report", p.name)
			w.end(p)
		}
	}
}

// reporting reports whether a process must report before it takes traffic.
func (w *world) reporting(p *process) bool {
	return slices.ContainsFunc(p.memberships(), func(m membership) bool { return w.kindOf(m) == trust.Acknowledgement })
}

// absences returns the proofs that members are gone: no Node has their UID, and no process of that machine runs.
func (w *world) absences(d *trust.Domain, missing []trust.RosterMember) map[string]string {
	out := map[string]string{}
	for i := range missing {
		r := &missing[i]
		if r.Kind == trust.CABundle {
			continue
		}
		if r.Pod {
			if proof := w.absentPod(r); proof != "" {
				out[trust.AbsenceKey(r)] = proof
			}
			continue
		}
		if n := w.api.nodes[r.Member]; n != nil && string(n.UID) != r.Instance && trust.Returned(d, r, string(n.UID), n.Addresses) {
			continue
		}
		if r.Instance == "" || w.nodeOf(r.Instance) || slices.ContainsFunc(w.processes, func(p *process) bool { return p.runsOn(r.Instance) }) {
			continue
		}
		out[trust.AbsenceKey(r)] = "its machine is gone"
	}
	return out
}

// absentPod returns the proof that a pod is gone, "" if there is none.
func (w *world) absentPod(r *trust.RosterMember) string {
	pod := w.api.latest().Pods[r.Member]
	if pod == nil {
		return trust.AbsentPod(r, "", "")
	}
	return trust.AbsentPod(r, string(pod.UID), pod.Life.Life())
}

func (w *world) nodeOf(uid string) bool {
	for _, n := range w.api.nodes {
		if string(n.UID) == uid {
			return true
		}
	}
	return false
}

// seen returns a domain with the absences that a leader would find.
func (w *world) seen(d *trust.Domain) *trust.Domain {
	missing := trust.Missing(d)
	if len(missing) == 0 {
		return d
	}
	out := *d
	out.Absences = w.absences(d, missing)
	return &out
}
