// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"certrotation.dev/registry/trust"
)

// accountOf is who the API server says that a report of a process comes from: the token of a pod is bound to it.
func (w *world) accountOf(p *process) *trust.Account {
	if p.pod == nil {
		return &trust.Account{Name: "system:serviceaccount:" + namespace + ":" + p.member}
	}
	return &trust.Account{Name: "system:serviceaccount:" + namespace + ":" + p.pod.workload.party, PodName: p.member, PodUID: p.pod.uid}
}

// mayReport asks what the API asks before it takes a report, of which the members that are no pods are no concern here.
func (w *world) mayReport(d *trust.Domain, m membership, o *trust.Observation, by *trust.Account) error {
	if w.anyReporter {
		return nil
	}
	return trust.CheckReportingPod(d, m.party, m.member, o.Instance, by)
}

// reportsForNeighbour has a pod report for another one what it has loaded itself, with its own token: under its own UID, or
// under that of the other.
func (w *world) reportsForNeighbour() bool {
	p, to := w.anyPod(), w.anyPod()
	if p == nil || to == nil || p == to || !p.up || p.pod.workload != to.pod.workload {
		return false
	}
	for _, own := range p.memberships() {
		m := own
		m.member = to.member
		if w.kindOf(m) != trust.Acknowledgement {
			continue
		}
		o := w.reportOf(p, own)
		if in(w.dice, 2, "under the UID of the other") {
			o.Instance, o.StartedAt = to.pod.uid, w.clock.now()
		}
		w.say("%s reports for %s, as %s", p.name, to.name, o.Instance)
		w.counts.event(neighbourReport)
		w.acknowledge(m, o, w.accountOf(p))
		return true
	}
	return false
}

// stray is a report that was made by a process that is not there any more.
type stray struct {
	of     membership
	report *trust.Observation
	by     *trust.Account
	name   string
}

// keepStrays keeps what a process has reported and has not arrived before it ends; without that, what it would have reported.
func (w *world) keepStrays(p *process) {
	for _, m := range p.memberships() {
		if w.kindOf(m) != trust.Acknowledgement || p.pod.starts == 0 {
			continue
		}
		o := p.pending[m]
		if o == nil && p.up {
			o = w.reportOf(p, m)
		}
		if o != nil {
			w.strays = append(w.strays[max(0, len(w.strays)-remembered):], stray{of: m, report: o, by: w.accountOf(p), name: p.name})
		}
	}
	clear(p.pending)
}

// strayArrives delivers the report of a pod, or of a container, that was replaced since.
func (w *world) strayArrives() bool {
	if len(w.strays) == 0 {
		return false
	}
	s := w.strays[len(w.strays)-1]
	w.strays = w.strays[:len(w.strays)-1]
	w.say("a report of a former process of %s arrives", s.name)
	w.counts.event(strayReport)
	w.acknowledge(s.of, s.report, s.by)
	return true
}
