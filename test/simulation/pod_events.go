// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strings"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// podEvents are the events of pods. All but people's removals may also happen in the middle of a leader's work.
func podEvents() (all, between []event) {
	between = []event{
		{"pod started", 6, plain((*world).startsPending)},
		{"scale", 2, plain((*world).scales)},
		{"pod deleted", 2, plain((*world).deletesPod)},
		{"pod gone", 3, plain((*world).podGoes)},
		{"pod evicted", 1, plain((*world).evicts)},
		{"kubelet", 2, plain((*world).syncs)},
		{"restart into older content", 1, plain((*world).relapses)},
		{"another pod of a name", 1, plain((*world).followsByName)},
		{"late pod", 1, plain((*world).joinsLate)},
		{"label of a pod", 2, plain((*world).relabels)},
		{"report for a neighbour", 4, plain((*world).reportsForNeighbour)},
		{"report of a former process", 1, plain((*world).strayArrives)},
		{"listing", 2, plain((*world).listing)},
		{"selector in flight", 1, plain((*world).editsSelector)},
	}
	return append([]event{
		{"vanished node", 1, plain((*world).nodeOfPodsVanishes)},
		{"selector", 1, plain((*world).correctsSelector)},
	}, between...), between
}

// notOfPods are the events that do not happen in worlds with pods.
func notOfPods() []string {
	return []string{"node joins", "node leaves", "label of a node", "object of a node", "recovery", "the recovery is applied"}
}

// scales scales a workload up, down, or to zero.
func (w *world) scales() bool {
	l := one(w.dice, "workload", w.workloads)
	pods := slices.DeleteFunc(w.podsOf(l), func(p *process) bool { return p.pod.terminating || p.pod.ended || p.pod.lost })
	want := w.dice.roll(4, "replicas")
	was := l.replicas
	l.replicas = want
	switch {
	case want == len(pods), want > len(pods) && w.wrong:
		// Nothing protects new pods that the configuration does not choose in flight, so people make none.
		l.replicas = was
		return false
	case want > len(pods):
		w.say("%s is scaled from %d to %d", l.party, len(pods), want)
		for range want - len(pods) {
			w.createPod(l).pod.unschedulable = in(w.dice, 4, "no node has room")
		}
		if l.zero {
			w.counts.event(scaledBack)
		}
		l.zero = false
	default:
		w.say("%s is scaled from %d to %d", l.party, len(pods), want)
		for _, p := range pods[want:] {
			w.terminates(p)
		}
		if l.zero = want == 0; l.zero {
			w.counts.event(scaledToZero)
		}
	}
	return true
}

// startsPending starts a pod that is down and can start.
func (w *world) startsPending() bool {
	down := slices.DeleteFunc(slices.Clone(w.processes), func(p *process) bool { return p.up || p.pod == nil || p.pod.unschedulable })
	if len(down) == 0 {
		return false
	}
	p := one(w.dice, "pod", down)
	if !w.startPod(p) {
		return false
	}
	w.say("the pod %s starts", p.name)
	return true
}

// deletesPod deletes a pod. Its workload makes another one: with a new name, or with the same once that is free.
func (w *world) deletesPod() bool {
	p := w.anyPod()
	if p == nil || p.pod.terminating || w.wrong {
		return false
	}
	w.say("the pod %s is deleted", p.name)
	w.counts.event(podTerminating)
	p.pod.succeeded = w.topology.stateful
	w.terminates(p)
	if !p.pod.succeeded {
		w.createPod(p.pod.workload)
	}
	return true
}

// podGoes removes a pod that is terminating or does not run any more.
func (w *world) podGoes() bool {
	p := w.anyPod()
	if p == nil || (!p.pod.terminating && !p.pod.ended && !p.pod.lost) || (p.pod.succeeded && w.wrong) {
		return false
	}
	w.say("the pod %s is gone", p.name)
	w.isGone(p)
	return true
}

// evicts ends all containers of a pod. Its object stays.
func (w *world) evicts() bool {
	p := w.anyPod()
	if p == nil || p.pod.ended || p.pod.lost || p.pod.terminating {
		return false
	}
	w.say("the pod %s is evicted", p.name)
	w.counts.event(podEnded)
	p.up, p.pod.ended = false, true
	w.showPod(p)
	return true
}

// nodeOfPodsVanishes ends the pods of one of two nodes. The API server shows nothing before their objects are gone.
func (w *world) nodeOfPodsVanishes() bool {
	node, found := w.dice.roll(2, "node"), false
	for _, p := range w.processes {
		if p.pod == nil || p.pod.number%2 != node || !p.up {
			continue
		}
		w.say("%s vanishes with its node", p.name)
		w.counts.event(podLost)
		p.up, p.pod.lost, found = false, true, true
	}
	return found
}

// relabels takes the label from a recorded pod in flight, or gives it back.
func (w *world) relabels() bool {
	p := w.anyPod()
	if p == nil || w.mistyped {
		return false
	}
	if !p.pod.unlabelled {
		inFlight := func(m membership) bool {
			d := w.domain(m.domain)
			return d != nil && w.rotating(d) && !w.history(m.domain).dead
		}
		if w.unrecorded(p) || p.pod.ended || p.pod.lost || slices.ContainsFunc(p.memberships(), func(m membership) bool { return !inFlight(m) }) {
			return false
		}
		w.counts.event(podRelabelled)
	}
	p.pod.unlabelled = !p.pod.unlabelled
	w.say("the pod %s has its label: %t", p.name, !p.pod.unlabelled)
	w.showPod(p)
	return true
}

// settleLabels restores the labels of pods when a domain of theirs is at rest.
func (w *world) settleLabels() {
	for _, p := range w.processes {
		if p.pod == nil || !p.pod.unlabelled {
			continue
		}
		for _, m := range p.memberships() {
			if d := w.domain(m.domain); d == nil || !w.rotating(d) {
				p.pod.unlabelled = false
			}
		}
		if !p.pod.unlabelled {
			w.say("the pod %s gets its label back", p.name)
			w.showPod(p)
		}
	}
}

// correctsSelector corrects a selector that was wrong from the beginning.
func (w *world) correctsSelector() bool {
	if !w.mistyped {
		return false
	}
	w.putsRight()
	return true
}

func selectorEdits() []configurationEdit {
	return []configurationEdit{
		{"has a selector choose nothing in", (*world).choosesNothing, false},
		{"has a selector choose other pods in", (*world).choosesOthers, false},
	}
}

// editsSelector edits a selector in flight. Its pods are listed.
func (w *world) editsSelector() bool {
	if w.wrong || !w.editsBy(selectorEdits()) {
		return false
	}
	w.lists()
	return true
}

func (w *world) choosesNothing(d *configv1alpha1.TrustDomain) bool {
	return w.chooses(d, "nothing")
}

func (w *world) choosesOthers(d *configv1alpha1.TrustDomain) bool {
	return w.chooses(d, one(w.dice, "workload", w.workloads).party)
}

func (w *world) chooses(d *configv1alpha1.TrustDomain, label string) bool {
	p := w.anyParty(d)
	if p == nil || p.Pods == nil || p.Name == label {
		return false
	}
	w.counts.event(selectorEdit)
	p.Pods.Selector = choosing(label)
	return true
}

// populates does what a rotation asks for if a selector has never chosen a pod: correct the selector, and start a
// pod.
func (w *world) populates(d *trust.Domain, a *trust.Assessment) {
	if !a.Blocked() {
		return
	}
	if w.mistyped {
		w.putsRight()
		w.lists()
	}
	for _, l := range w.workloads {
		asked := slices.ContainsFunc(a.Blockers, func(b trust.Blocker) bool { return strings.Contains(b.Message, "relying party "+l.party+" would") })
		if asked && !slices.ContainsFunc(w.podsOf(l), func(p *process) bool { return !p.pod.ended && !p.pod.lost }) {
			w.say("somebody starts a pod of %s", l.party)
			l.replicas = max(l.replicas, 1)
			w.createPod(l)
		}
	}
}

// allRecorded reports whether the rosters have every pod that runs or may start.
func (w *world) allRecorded() bool {
	return !slices.ContainsFunc(w.processes, func(p *process) bool { return p.pod != nil && w.unrecorded(p) })
}

// restPods completes what is under way with pods: lost and terminating pods are gone, labels are back.
// Unschedulable and evicted pods stay so. A pod that started while all clocks were ahead is deleted, as no later
// evidence of it can count.
func (w *world) restPods() {
	w.lists()
	for _, p := range w.processes {
		if p.pod == nil {
			continue
		}
		if p.pod.lost || p.pod.terminating && !p.up {
			w.say("the pod %s is gone", p.name)
			w.isGone(p)
			continue
		}
		if p.pod.unlabelled {
			p.pod.unlabelled = false
			w.showPod(p)
		}
		if p.up && p.startedAt.After(w.clock.now()) {
			w.say("the pod %s, which was started in the future, is deleted", p.name)
			w.removePod(p)
			w.createPod(p.pod.workload)
		}
	}
}

// runnable reports whether a process must run at rest.
func (p *process) runnable() bool {
	return p.pod == nil || !p.pod.ended && !p.pod.unschedulable
}

// putPod stores the state of a pod, nil to delete it.
func (s *server) putPod(name string, pod *inventory.Pod) {
	s.version++
	next := *s.latest()
	next.Pods = copied(next.Pods)
	delete(next.Pods, name)
	if pod != nil {
		next.Pods[name] = pod
	}
	s.became(&next)
}

func copied[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m)+1)
	maps.Copy(out, m)
	return out
}
