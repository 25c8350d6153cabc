// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// refusesWrites makes the server refuse leaders' writes of an object permanently, or ends that.
func (w *world) refusesWrites() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	objects := []string{"Secret/" + d.Signer.Name, "ConfigMap/" + d.Bundle.Name, "RotationRecord/" + trust.RosterRecord(d.Name)}
	for i := range d.Leaves {
		objects = append(objects, "Secret/"+d.Leaves[i].Name, "Secret/"+d.Leaves[i].Name)
	}
	object := one(w.dice, "object", objects)
	if w.api.refuses[object] != nil {
		w.say("the server does not refuse writes of %s any more", object)
		delete(w.api.refuses, object)
		return true
	}
	w.say("the server refuses writes of %s", object)
	w.api.refuses[object] = one(w.dice, "answer", []error{
		apierrors.NewForbidden(secretResource, object, errors.New("a policy says so")),
		apierrors.NewBadRequest("it is immutable"),
	})
	return true
}

// clocksJump makes all clocks jump ahead together, or come back. Meanwhile processes keep their promises by their
// own clocks.
func (w *world) clocksJump() bool {
	if w.ahead > 0 {
		w.clocksComeBack()
		return true
	}
	w.clocksJumpBy(one(w.dice, "by", []time.Duration{5 * time.Minute, 30 * time.Minute, 3 * time.Hour, 26 * time.Hour, decades}))
	return true
}

// decades is a jump of clocks to a completely wrong time.
const decades = 20 * 365 * 24 * time.Hour

func (w *world) clocksJumpBy(ahead time.Duration) {
	w.ahead = ahead
	w.say("all clocks jump ahead by %s", w.ahead)
	if ahead == decades {
		w.counts.event(longJump)
		w.noteEnding()
		for _, h := range w.histories {
			// Leaves of an earlier jump are valid again.
			h.dead = h.dead || w.returned
		}
	} else {
		w.counts.event(clockJump)
	}
	w.pass(w.ahead)
}

// weekend is how long a domain may be unwatched without a doubt about what has expired meanwhile.
const weekend = 3 * 24 * time.Hour

// noteEnding excepts the leaves that end soon: after a jump nothing tells that they have not.
func (w *world) noteEnding() {
	note := func(c *pki.Certificate) {
		if c != nil && c.Expired(w.clock.now().Add(weekend+maxOff)) {
			w.abandon(c)
		}
	}
	for _, p := range w.processes {
		for _, c := range p.leaves {
			note(c)
		}
	}
	for _, d := range w.domains().Domains {
		for i := range d.Leaves {
			note(d.Leaves[i].Certificate)
		}
	}
}

func (w *world) clocksComeBack() {
	w.say("all clocks come back by %s", w.ahead)
	w.clock.set(w.clock.now().Add(-w.ahead))
	for _, p := range w.processes {
		if !p.behind.IsZero() {
			p.behind = p.behind.Add(-w.ahead)
		}
		p.reportedAt = p.reportedAt.Add(-w.ahead)
	}
	if w.target != nil {
		for i, v := range w.target.versions {
			earlier := *v
			earlier.at = v.at.Add(-w.ahead)
			w.target.versions[i] = &earlier
		}
	}
	for _, h := range w.histories {
		h.dead, h.ahead = h.dead && !h.ahead, false
	}
	w.ahead, w.returned = 0, true
}

// doubles starts a second process of a member, as a rolling update does before it ends the first.
func (w *world) doubles() bool {
	p := w.running()
	return p != nil && p.pod == nil && p.number == 0 && len(w.processesOf(p.member)) == 1 && w.recordedAll(p) && w.doubleOf(p)
}

// recordedAll reports whether there is evidence of a process in each party where it reports. A process without
// evidence is unknown beside another one until it reports again, a limit of that evidence (losesRecord).
func (w *world) recordedAll(p *process) bool {
	return !slices.ContainsFunc(p.memberships(), func(m membership) bool {
		return w.kindOf(m) == trust.Acknowledgement && len(w.recorded(m)) == 0
	})
}

// doubleOf starts a second process of the member of p.
func (w *world) doubleOf(p *process) bool {
	second := newProcess(p.member, 1)
	second.roles, second.within, second.off = p.roles, p.within, p.off
	if !w.start(second) {
		return false
	}
	w.say("%s has a second process", p.member)
	w.counts.event(secondProcess)
	at := slices.Index(w.processes, p)
	w.processes = slices.Insert(slices.Clone(w.processes), at+1, second)
	return true
}

// forges reports a process that starts, or was observed, in the future.
func (w *world) forges() bool {
	p := w.running()
	if p == nil {
		return false
	}
	for _, m := range p.memberships() {
		if w.kindOf(m) != trust.Acknowledgement {
			continue
		}
		o := w.reportOf(p, m)
		for _, ca := range w.domain(m.domain).Bundle.Anchors {
			o.Trusts = append(o.Trusts, ca.Fingerprint)
		}
		if in(w.dice, 2, "observed in the future") {
			o.ObservedAt = w.clock.now().Add(time.Hour)
		} else {
			o.StartedAt = w.clock.now().Add(time.Hour)
		}
		w.counts.event(forgedReport)
		w.say("somebody forges a report of %s", p.name)
		if w.acknowledge(m, o, w.accountOf(p)) {
			w.breaks(violated("ContentDecides", "a forged report of %s was taken", p.name))
		}
		return true
	}
	return false
}

// replays delivers an earlier report again.
func (w *world) replays() bool {
	p := w.anyProcess()
	if p == nil || len(p.replay) == 0 {
		return false
	}
	for _, m := range p.memberships() {
		if o := p.replay[m]; o != nil && w.kindOf(m) == trust.Acknowledgement {
			w.say("an old report of %s is delivered again", p.name)
			w.counts.event(replayedReport)
			w.acknowledge(m, o, w.accountOf(p))
			return true
		}
	}
	return false
}
