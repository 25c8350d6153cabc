// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	"certrotation.dev/registry/injection"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// targetEvents are the events of an object with caBundles.
func targetEvents() []event {
	return []event{
		{"injector", 5, plain((*world).injectorLooks)},
		{"watch", 3, plain((*world).seesOne)},
		{"caBundle by hand", 3, plain((*world).editsCABundle)},
	}
}

// injectorLooks lets the injector reconcile, with the caches of a leader.
func (w *world) injectorLooks() bool {
	if w.target == nil {
		return false
	}
	l := one(w.dice, "leader", w.leaders)
	if !in(w.dice, 3, "with caches that lag") {
		l.view.catchUp()
	}
	return w.injects(l)
}

// injects writes what the target must hold, as controller/cabundle does: only if the bundle is still the one in the
// cache. It reports whether there was something to write.
func (w *world) injects(l *leader) bool {
	n := l.view.Namespace(namespace)
	if w.target == nil || n == nil || w.target.unseen {
		return false
	}
	for _, d := range n.Domains {
		if live := w.domain(d.Name); len(d.Bundle.InjectInto) == 0 || live == nil || live.Bundle.ResourceVersion != d.Bundle.ResourceVersion {
			continue
		}
		a := injection.Assess(d, w.target.latest().entries, w.clock.now().Add(l.off))
		if !a.Outdated {
			return false
		}
		w.say("%s injects %d anchors", l.name, len(a.Anchors[0]))
		w.counts.event(injected)
		w.puts(a.Anchors)
		return true
	}
	return false
}

// seesOne lets a kube-apiserver see one more version of the target.
func (w *world) seesOne() bool {
	p := w.anyProcess()
	if p == nil || p.hook == nil || p.hook.seen == len(w.target.versions) {
		return false
	}
	w.say("%s sees a change", p.name)
	w.follows(p, p.hook.seen+1)
	return true
}

// editsCABundle makes a person remove an anchor from a caBundle, or add a foreign one. It does so only if no
// kube-apiserver would then refuse a live leaf, and keeps the CAs that may sign another one.
func (w *world) editsCABundle() bool {
	if w.target == nil || w.nested {
		return false
	}
	at := w.dice.roll(hooks, "webhook")
	var anchors [hooks][]*pki.Certificate
	anchors[at] = slices.Clone(w.target.latest().entries[at].Anchors)
	switch {
	case len(anchors[at]) < 2, in(w.dice, 3, "a foreign one"):
		ca, err := w.authority(foreignName)
		if err != nil || len(anchors[at]) == 0 || len(anchors[at]) > 3 {
			return false
		}
		anchors[at] = append(anchors[at], ca.Certificate)
	default:
		lost := w.dice.roll(len(anchors[at]), "anchor")
		if slices.ContainsFunc(w.domains().Domains, func(d *trust.Domain) bool { return signs(&d.Signer, anchors[at][lost]) }) {
			return false
		}
		anchors[at] = slices.Delete(anchors[at], lost, lost+1)
	}
	before, pools := w.target.versions, map[*process]map[string]*pool{}
	w.puts(anchors[:])
	for _, p := range w.processes {
		if p.hook != nil {
			pools[p] = copied(p.pools)
			w.verifiesBy(p, w.target.latest())
		}
	}
	refused := w.strictly(w.checkHandshakes) != nil
	for p, is := range pools {
		p.pools = is
	}
	if refused {
		w.target.versions = before
		return false
	}
	w.say("somebody has the caBundle of webhook %d hold %d anchors", at, len(anchors[at]))
	w.counts.event(caBundleByHand)
	w.target.unseen = true
	return true
}

// signs reports whether a signer has the key of a CA, and has signed with it.
func signs(s *trust.Signer, ca *pki.Certificate) bool {
	return s.Active != nil && ca.Equal(s.Active) || slices.ContainsFunc(s.Previous, ca.Equal)
}

// restTarget lets the injector write all that is due.
func (w *world) restTarget() {
	if w.target == nil {
		return
	}
	for _, d := range w.domains().Domains {
		w.probeAll(d)
	}
	for w.injects(w.leaders[0]) {
		w.leaders[0].view.catchUp()
	}
}
