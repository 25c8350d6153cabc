// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"certrotation.dev/registry/trust"
)

// accountOf returns the account that the API server sees for reports of a process. A pod's token is bound to the
// pod.
func (w *world) accountOf(p *process) *trust.Account {
	if p.pod == nil {
		return &trust.Account{Name: "system:serviceaccount:" + namespace + ":" + p.member}
	}
	return &trust.Account{Name: "system:serviceaccount:" + namespace + ":" + p.pod.workload.party, PodName: p.member, PodUID: p.pod.uid}
}

// mayReport does the API's checks of a report from a pod.
func (w *world) mayReport(d *trust.Domain, m membership, o *trust.Observation, by *trust.Account) error {
	if w.anyReporter {
		return nil
	}
	return trust.CheckReportingPod(d, m.party, m.member, o.Instance, by)
}

// reportsForNeighbour makes a pod report its own content for another pod, with its own token: under its own UID, or
// under the other pod's.
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

// stray is a report by a process that does not exist any more.
type stray struct {
	of     membership
	report *trust.Observation
	by     *trust.Account
	name   string
}

// keepStrays keeps the last report of a process that ends: one that has not arrived, or else one that it could have
// made.
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

// strayArrives delivers the report of a pod or container that was replaced since.
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
