// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"maps"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/restart"
	"certrotation.dev/registry/trust"
)

// restarter handles the workloads that are due, as controller/rollout/workload does: with a cache that may lag, and
// live reads of the workloads. It reports whether it did something.
func (w *world) restarter(l *leader) bool {
	var orders []*restart.Order
	verdicts, known := map[trust.Workload]restart.Verdict{}, map[trust.Workload]trust.Progress{}
	for news := true; news; {
		news = false
		domains := l.view.Namespace(namespace)
		if domains == nil {
			return false
		}
		orders = restart.Orders(domains.Domains, func(d *trust.Domain) []trust.Restart { return w.dueOf(d, known) })
		for _, o := range orders {
			of := w.workload(o.Workload.Name)
			if of == nil || !of.startsOnly() {
				continue
			}
			facts, pods, err := w.facts(of)
			if err != nil {
				w.breaks(err)
				return false
			}
			v := restart.Assess(o, facts, pods, nil)
			verdicts[o.Workload] = v
			before, seen := known[o.Workload]
			if after := restart.ProgressOf(facts, v); !seen || after.Complete && !before.Complete {
				known[o.Workload], news = after, true
			}
		}
	}
	if w.due == nil {
		restart.TakeTurns(orders, known, verdicts)
	}
	done := false
	for _, o := range orders {
		switch v := verdicts[o.Workload]; v.State {
		case restart.Write:
			w.restartsFor(l, o)
			done = true
		case restart.Replace:
			for _, pod := range v.Pods {
				if p := w.process(pod.Name); p != nil && p.pod != nil && p.pod.starts == 0 {
					w.say("the pod %s, which waits for what is gone, is deleted", p.name)
					w.counts.event(gatedReplaced)
					p.pod.succeeded, done = w.topology.stateful, true
					w.terminates(p)
				}
			}
		case restart.Hold:
			w.counts.event(restartHeld)
		case restart.Done:
			w.workload(o.Workload.Name).restarting = false
		case restart.Wait, restart.Ask, restart.Evict:
			// No workload of these worlds has a quorum.
		}
	}
	return done
}

func (w *world) dueOf(d *trust.Domain, known map[trust.Workload]trust.Progress) []trust.Restart {
	if w.due != nil {
		return w.due(d, known, w)
	}
	return trust.Restarts(d, w.clock.now(), known)
}

func (w *world) workload(name string) *workload {
	if at := slices.IndexFunc(w.workloads, func(l *workload) bool { return l.name == name }); at >= 0 {
		return w.workloads[at]
	}
	return nil
}

// restartsFor writes the contents for which a workload is due into its template.
func (w *world) restartsFor(l *leader, o *restart.Order) {
	of := w.workload(o.Workload.Name)
	w.say("%s is restarted for %s", of.name, o.Why())
	w.counts.event(restartedWorkload)
	if l.view.upToDate() {
		w.breaks(w.checkOneAtATime(of))
		w.breaks(w.checkNeeded(of, o.Content))
	}
	of.rewrites(of.template.with(o.Content))
	of.restarting = true
}

// checkOneAtATime checks that no two workloads of a relying party restart at once. One that lacks pods may restart: its
// rollout replaces what does not run first.
func (w *world) checkOneAtATime(of *workload) error {
	if slices.ContainsFunc(w.living(of), func(p *process) bool { return !p.up }) {
		return nil
	}
	for _, other := range w.workloads {
		behind := func(p *process) bool { return p.pod.template != other.template || !p.up }
		if other != of && other.party == of.party && other.restarting && slices.ContainsFunc(w.living(other), behind) {
			return violated("OneWorkload", "%s is restarted while %s is", of.name, other.name)
		}
	}
	return nil
}

// checkNeeded checks that a restart brings some pod content that it is not known to have read. A restart also
// counts as needed if a pod waits at its gate, or if the evidence of a pod has lapsed.
func (w *world) checkNeeded(of *workload, content map[string]string) error {
	living := w.living(of)
	for _, p := range living {
		if p.pod.starts == 0 || !p.up || p.pod.unlabelled || w.lapsedNow(p) || !w.has(p, content) {
			return nil
		}
	}
	if len(living) == 0 {
		return nil
	}
	return violated("RestartedForNothing", "%s is restarted, and each of its pods is known to have read all of that", of.name)
}

// has reports whether a process is known to have read all present content that annotations name.
func (w *world) has(p *process, content map[string]string) bool {
	unread := func(ca *pki.Certificate) bool { return !slices.Contains(p.provenTrusts, ca.Fingerprint) }
	for _, f := range p.pod.workload.files {
		if content[f.annotation()] != w.latestPublication().hashes[f.object()] {
			continue
		}
		for _, d := range w.domains().Domains {
			switch l := d.Leaf(f.name); {
			case f.kind == trust.ConfigMapKind && d.Bundle.Name == f.name && slices.ContainsFunc(d.Bundle.Anchors, unread),
				f.kind == trust.SecretKind && l != nil && l.Certificate != nil && !slices.Contains(p.provenPresents, l.Certificate.Fingerprint):
				return false
			}
		}
	}
	return true
}

// lapsedNow reports whether the recorded evidence of a process has expired, or is of another process.
func (w *world) lapsedNow(p *process) bool {
	return slices.ContainsFunc(p.memberships(), func(m membership) bool {
		live := func(o trust.Observation) bool { return o.Instance == p.pod.process() && o.Expires.After(w.clock.now()) }
		return w.kindOf(m) == trust.WorkloadRollout && !slices.ContainsFunc(w.recorded(m), live)
	})
}

// annotates makes a person name content in a template for the first time. certrotation itself does so only if a
// rotation needs it.
func (w *world) annotates(l *workload) bool {
	missing := map[string]string{}
	for _, f := range l.files {
		hash := w.latestPublication().hashes[f.object()]
		if l.template.content[f.annotation()] == "" && hash != "" {
			missing[f.annotation()] = hash
		}
	}
	if len(missing) == 0 {
		return false
	}
	w.say("somebody annotates %s with %s", l.name, strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	l.rewrites(l.template.with(missing))
	return true
}
