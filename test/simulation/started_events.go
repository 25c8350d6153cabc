// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"strings"
)

// startedEvents are the events of workloads whose programs read their files only at start.
func startedEvents() []event {
	return []event{
		{"restarter", 6, plain((*world).restarterLooks)},
		{"rollout", 8, plain((*world).rollsOn)},
		{"pause", 1, plain((*world).pauses)},
		{"template by hand", 2, plain((*world).editsTemplate)},
		{"foreign anchor", 1, plain((*world).turnsForeignAnchor)},
	}
}

// restarterLooks lets the restart controller reconcile, with the caches of a leader.
func (w *world) restarterLooks() bool {
	l := one(w.dice, "leader", w.leaders)
	if !in(w.dice, 3, "with caches that lag") {
		l.view.catchUp()
	}
	return w.restarter(l)
}

// rollsOn lets the controller of a workload do its next step.
func (w *world) rollsOn() bool { return w.rolls(one(w.dice, "workload", w.workloads)) }

// pauses makes a person pause or resume the rollout of a workload.
func (w *world) pauses() bool {
	l := one(w.dice, "workload", w.workloads)
	if !l.startsOnly() || w.topology.stateful {
		return false
	}
	l.paused = !l.paused
	l.generation++
	w.say("somebody pauses the rollout of %s: %t", l.name, l.paused)
	w.counts.event(rolloutPaused)
	return true
}

// editsTemplate makes a person edit a template: it names content that does not exist, former content or none, or
// its start gates are added or removed.
func (w *world) editsTemplate() bool {
	l := one(w.dice, "workload", w.workloads)
	if !l.startsOnly() {
		return false
	}
	f := one(w.dice, "file", l.files)
	next := l.template
	switch w.dice.roll(4, "edit of the template") {
	case 0:
		next = next.with(map[string]string{f.annotation(): strings.Repeat("0", 64)})
	case 1:
		next = next.with(map[string]string{f.annotation(): one(w.dice, "former content", w.published).hashes[f.object()]})
	case 2:
		next = next.with(map[string]string{f.annotation(): ""})
	default:
		next = next.with(nil)
		next.gated = !next.gated
	}
	w.say("somebody edits the template of %s", l.name)
	w.counts.event(templateByHand)
	l.rewrites(next)
	l.restarting = false
	return true
}

// turnsForeignAnchor makes a person publish a foreign anchor beside those of a domain, or remove it.
func (w *world) turnsForeignAnchor() bool {
	d := one(w.dice, "domain", w.domains().Domains)
	for _, ca := range d.Bundle.Anchors {
		if strings.Contains(ca.Subject, foreignName) {
			return w.apply(w.writesBundle(d, "takes the foreign anchor from "+d.Bundle.Name,
				slices.DeleteFunc(slices.Clone(d.Bundle.Anchors), ca.Equal)))
		}
	}
	e := w.addsAnchor(d)
	return e != nil && w.apply(e)
}

// restWorkloads completes the rollouts, with what people must correct for that.
func (w *world) restWorkloads() error {
	if !w.topology.startsPods() || len(w.published) == 0 {
		return nil
	}
	for _, l := range w.workloads {
		if !l.startsOnly() {
			continue
		}
		if l.paused || l.template.gated == w.topology.assumed {
			next := l.template.with(nil)
			next.gated, l.paused = !w.topology.assumed, false
			l.rewrites(next)
		}
		w.annotates(l)
	}
	for range 40 * len(w.workloads) {
		if !w.restWorkload() {
			return nil
		}
		w.tick()
		if err := w.afterStep(); err != nil {
			return err
		}
	}
	return violated("NoSilentWait", "a rollout does not end")
}

// restWorkload does one step towards the end of all rollouts.
func (w *world) restWorkload() bool {
	for _, p := range w.processes {
		if p.pod == nil || !p.pod.workload.startsOnly() {
			continue
		}
		p.pod.unschedulable = false
		switch {
		case p.pod.lost, p.pod.terminating:
			w.isGone(p)
			return true
		case !p.up && w.startPod(p):
			w.observe(p)
			return true
		case !p.up && w.topology.stateful && p.pod.template != p.pod.workload.template:
			// No controller replaces a pod that is not ready, and this one never will be. A person must delete it.
			w.say("somebody deletes the pod %s, which does not start", p.name)
			p.pod.succeeded = true
			w.terminates(p)
			return true
		}
	}
	if slices.ContainsFunc(w.workloads, w.rolls) {
		return true
	}
	for _, p := range w.processes {
		if p.up && p.pod != nil && p.pod.workload.startsOnly() {
			w.observe(p)
		}
	}
	l := w.leaders[0]
	l.view.catchUp()
	return w.restarter(l)
}
