// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// podEvents are what happens to pods only. All of them come in between, too, but what makes people take something away.
func podEvents() (all, between []event) {
	between = []event{
		{"pod started", 6, plain((*world).startsPending)},
		{"scale", 2, plain((*world).scales)},
		{"pod deleted", 2, plain((*world).deletesPod)},
		{"pod gone", 3, plain((*world).podGoes)},
		{"pod evicted", 1, plain((*world).evicts)},
		{"kubelet", 2, plain((*world).syncs)},
		{"label of a pod", 2, plain((*world).relabels)},
		{"report for a neighbour", 1, plain((*world).reportsForNeighbour)},
		{"report of a former process", 1, plain((*world).strayArrives)},
		{"listing", 1, plain((*world).listing)},
	}
	return append([]event{
		{"vanished node", 1, plain((*world).nodeOfPodsVanishes)},
		{"selector", 1, plain((*world).correctsSelector)},
	}, between...), between
}

// notOfPods are events that do not happen in worlds with pods.
func notOfPods() []string {
	return []string{"node joins", "node leaves", "label of a node", "object of a node", "recovery", "the recovery is applied"}
}

// scales has a workload have more pods, or fewer, or none.
func (w *world) scales() bool {
	l := one(w.dice, "workload", w.workloads)
	pods := slices.DeleteFunc(w.podsOf(l), func(p *process) bool { return p.pod.terminating || p.pod.ended || p.pod.lost })
	want := w.dice.roll(4, "replicas")
	switch {
	case want == len(pods), want > len(pods) && w.wrong:
		// What the configuration does not choose in flight is not protected: nobody makes new pods then.
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

// startsPending starts a pod that does not run and can.
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

// deletesPod deletes one pod; its workload makes another one, which has its name once that is free.
func (w *world) deletesPod() bool {
	p := w.anyPod()
	if p == nil || p.pod.terminating || w.wrong {
		return false
	}
	w.say("the pod %s is deleted", p.name)
	w.counts.event(podTerminating)
	w.terminates(p)
	w.createPod(p.pod.workload)
	return true
}

// podGoes ends a pod that is terminating, or takes the object of one away that does not run any more.
func (w *world) podGoes() bool {
	p := w.anyPod()
	if p == nil || (!p.pod.terminating && !p.pod.ended && !p.pod.lost) {
		return false
	}
	w.say("the pod %s is gone", p.name)
	w.removePod(p)
	return true
}

// evicts ends all containers of a pod; its object stays.
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

// nodeOfPodsVanishes ends the pods of one of two nodes. Nobody says so before their objects are gone.
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

// relabels takes the label from a pod in flight, once it is recorded, or gives it back.
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

// settleLabels labels pods as they were when a domain of theirs is at rest.
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

// reportsForNeighbour has a pod report for another one what it has loaded itself.
func (w *world) reportsForNeighbour() bool {
	p, to := w.anyPod(), w.anyPod()
	if p == nil || to == nil || p == to || !p.up || p.pod.workload != to.pod.workload {
		return false
	}
	for _, m := range p.memberships() {
		m.member = to.member
		if w.kindOf(m) == trust.Acknowledgement {
			w.say("%s reports for %s", p.name, to.name)
			w.counts.event(neighbourReport)
			w.acknowledge(m, w.reportOf(p, membership{domain: m.domain, party: m.party, member: p.member}))
			return true
		}
	}
	return false
}

// stray is a report that was made by a process that is not there any more.
type stray struct {
	of     membership
	report *trust.Observation
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
			w.strays = append(w.strays[max(0, len(w.strays)-remembered):], stray{of: m, report: o, name: p.name})
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
	w.acknowledge(s.of, s.report)
	return true
}

// listing has the pods of the configuration's selectors be listed, or not be known for a while.
func (w *world) listing() bool {
	if len(w.api.latest().Selectors) > 0 && !w.unlisted() {
		w.say("pods are not listed any more")
		w.counts.event(podsUnlisted)
		w.api.putSelectors(nil)
		return true
	}
	w.lists()
	return true
}

// unlisted says whether a selector of the configuration is not listed.
func (w *world) unlisted() bool {
	latest := w.api.latest()
	return slices.ContainsFunc(latest.Configurations[configurationName].Selectors, func(s string) bool { return !latest.Selectors[s] })
}

func (w *world) lists() {
	if !w.topology.pods || !w.unlisted() {
		return
	}
	w.say("pods are listed")
	w.api.putSelectors(w.api.latest().Configurations[configurationName].Selectors)
}

// correctsSelector has a selector choose the pods that are there, which was wrong from the beginning.
func (w *world) correctsSelector() bool {
	if !w.mistyped {
		return false
	}
	w.putsRight()
	return true
}

// choosesNothing and choosesOthers edit a selector.
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

// populates does what a rotation asks for that waits because a selector has never chosen a pod: it is put right, and a pod is
// started.
func (w *world) populates(d *trust.Domain, a *trust.Assessment) {
	if !a.Blocked() {
		return
	}
	if w.mistyped {
		w.putsRight()
		w.lists()
	}
	for _, l := range w.workloads {
		living := slices.ContainsFunc(w.podsOf(l), func(p *process) bool { return !p.pod.ended && !p.pod.lost })
		if !living && (d.Roster == nil || !slices.Contains(d.Roster.Populated, l.party)) {
			w.say("somebody starts a pod of %s", l.party)
			w.createPod(l)
		}
	}
}

// allRecorded says whether the roster of a domain has every pod that runs, or may.
func (w *world) allRecorded() bool {
	return !slices.ContainsFunc(w.processes, func(p *process) bool { return p.pod != nil && w.unrecorded(p) })
}

// restPods brings the life of pods to an end where it is about to end. What has no node goes on to have none, and who was
// evicted stays so. One that was started while all clocks were ahead
// is deleted, as nothing that is known of it is younger.
func (w *world) restPods() {
	w.lists()
	for _, p := range w.processes {
		if p.pod == nil {
			continue
		}
		if p.pod.lost || p.pod.terminating && !p.up {
			w.say("the pod %s is gone", p.name)
			w.removePod(p)
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

// runnable says whether a process is to run at rest.
func (p *process) runnable() bool {
	return p.pod == nil || !p.pod.ended && !p.pod.unschedulable
}

// putPod stores what is known of a pod, nil for nothing.
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

// putSelectors has the pods of these selectors be listed, and no others.
func (s *server) putSelectors(selectors []string) {
	s.version++
	next := *s.latest()
	next.Selectors = map[string]bool{}
	for _, selector := range selectors {
		next.Selectors[selector] = true
	}
	s.became(&next)
}

func copied[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m)+1)
	maps.Copy(out, m)
	return out
}
