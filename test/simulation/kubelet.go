// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// kubeletLag is how long after something newer was published a kubelet may mount the older at most.
const kubeletLag = 10 * time.Minute

// publication is what bundles and leaves were at one time.
type publication struct {
	pools  map[string]*pool
	leaves map[string]*pki.Certificate
	// beside are the anchors beside each leaf, nil where nobody verifies by them.
	beside map[string]*pool
	// hashes are of the contents, by Kind/name, where anybody asks for them, and superseded are those before.
	hashes     map[string]string
	superseded map[string][]string
	// until is when something newer was published, zero if it is the latest.
	until time.Time
}

// publishes keeps in mind what may be mounted.
func (w *world) publishes() {
	if !w.topology.pods {
		return
	}
	now := &publication{pools: map[string]*pool{}, leaves: map[string]*pki.Certificate{}}
	if w.topology.beside {
		now.beside = map[string]*pool{}
	}
	for _, d := range w.domains().Domains {
		if anchors := w.readBundle(d); len(anchors) > 0 {
			now.pools[d.Name] = w.verifier.pool(anchors)
		}
		for i := range d.Leaves {
			l := &d.Leaves[i]
			if c := w.readLeaf(d, l.Name); c != nil {
				now.leaves[l.Name] = c
			}
			if anchors := besideLeaf(l); w.topology.beside && len(anchors) > 0 {
				now.beside[l.Name] = w.verifier.pool(anchors)
			}
		}
	}
	if w.topology.startsPods() {
		now.hashes, now.superseded = hashes(w.api.latest()), superseded(w.api.latest())
		defer w.notesContents()
	}
	if n := len(w.published); n > 0 {
		last := w.published[n-1]
		if maps.Equal(last.pools, now.pools) && maps.Equal(last.leaves, now.leaves) && maps.Equal(last.beside, now.beside) && maps.Equal(last.hashes, now.hashes) {
			return
		}
		last.until = w.clock.now()
	}
	w.published = append(w.published[max(0, len(w.published)-remembered):], now)
}

// latestPublication is what a kubelet that is up to date mounts.
func (w *world) latestPublication() *publication { return w.published[len(w.published)-1] }

// mountable is what a kubelet may mount: the latest, or what it has cached of the time before.
func (w *world) mountable(what string) *publication { return one(w.dice, what, w.allMountable()) }

// allMountable is everything that a kubelet may mount, the oldest first.
func (w *world) allMountable() []*publication {
	return slices.DeleteFunc(slices.Clone(w.published), func(p *publication) bool {
		return !p.until.IsZero() && w.clock.now().After(p.until.Add(kubeletLag))
	})
}

// mayBeLate says whether a kubelet may have cached something older. One that does so between the look that confirms a step
// and the write of the step is not promised anything.
func (w *world) mayBeLate() bool {
	n := len(w.published)
	return !w.nested && !w.faultless && n > 1 && !w.clock.now().After(w.published[n-2].until.Add(kubeletLag))
}

// startPod starts the container of a pod, for the first time or again, with what its kubelet has mounted. It may have cached
// something older than is published, and even older than what the container before had, unless with that the pod could not
// handshake at this moment: that is assumed of kubelets (docs/protocol.md), and counted. It need not report before it takes
// traffic, as the API server knows of its start.
func (w *world) startPod(p *process) bool {
	if !w.startable(p) {
		return false
	}
	trusted, leaves := w.latestPublication(), w.latestPublication()
	if w.mayBeLate() && in(w.dice, 2, "the kubelet has cached something older") {
		trusted, leaves = w.mountable("bundle"), w.mountable("leaf")
	}
	return w.begins(p, trusted, leaves, in(w.dice, 2, "it says nothing at its start"))
}

// startable says whether there is something that can start a container of a pod, and to start it with.
func (w *world) startable(p *process) bool {
	o := p.pod
	return !o.ended && !o.lost && !o.terminating && !o.unschedulable && len(w.published) > 0 && w.followed(p)
}

// startsWith starts the container of a pod with what its kubelet has mounted.
func (w *world) startsWith(p *process, trusted, leaves *publication, silent bool) bool {
	o, was := p.pod, *p
	p.up = true
	p.mounts(trusted, leaves)
	outdated := trusted != w.latestPublication() || leaves != w.latestPublication()
	if outdated && w.complete(p) && w.outrun(p) {
		w.counts.event(outrunStart)
		trusted, leaves, outdated = w.latestPublication(), w.latestPublication(), false
		p.mounts(trusted, leaves)
	}
	if !w.complete(p) {
		*p = was
		return false
	}
	w.keepStrays(p)
	p.before, p.behind, p.startedAt = nil, time.Time{}, w.clock.now()
	o.starts, o.trusted, o.leaves = o.starts+1, trusted, leaves
	if o.stale = outdated; outdated {
		p.behind = w.clock.now()
		w.counts.event(staleStart)
		w.say("  with what its kubelet had cached")
	}
	w.counts.event(podStart)
	w.takesBackWaivers(p)
	w.showPod(p)
	p.reportedAt = w.clock.now()
	if p.reachable && !silent {
		w.reportsAtStart(p)
	}
	return true
}

// mounts has a process that begins read its files.
func (p *process) mounts(trusted, leaves *publication) {
	p.pools, p.leaves = map[string]*pool{}, map[string]*pki.Certificate{}
	p.readAnchors(trusted, leaves)
	p.readLeaves(leaves)
}

// readAnchors has a process read the anchors of a bundle, or those beside its leaf.
func (p *process) readAnchors(trusted, leaves *publication) {
	for m, r := range p.roles {
		pool := trusted.pools[m.domain]
		if leaves.beside != nil && len(r.holds) > 0 {
			pool = leaves.beside[r.holds[0]]
		}
		if pool != nil {
			p.pools[m.domain] = pool
		}
	}
}

func (p *process) readLeaves(from *publication) {
	for _, r := range p.roles {
		for _, name := range r.holds {
			if c := from.leaves[name]; c != nil {
				p.leaves[name] = c
			}
		}
	}
}

// outrun says whether a pod with what was cached refuses, or is refused, at this moment, or does not know who signs.
func (w *world) outrun(p *process) bool {
	for _, d := range w.domains().Domains {
		anchors := p.pools[d.Name]
		if p.in(d.Name) && (!d.Bundle.Present || d.Signer.Active == nil || anchors == nil || !slices.ContainsFunc(anchors.anchors, d.Signer.Active.Equal)) {
			return true
		}
	}
	return w.strictly(func() error { return cmp.Or(w.checkHandshakes(), w.checkBundles()) }) != nil
}

// syncs has the kubelet of a pod mount something newer, which the process has not read yet.
func (w *world) syncs() bool {
	p := w.anyPod()
	if p == nil || !p.up || len(w.published) == 0 {
		return false
	}
	o := p.pod
	newer := func(mounted *publication, what string) *publication {
		if next := w.mountable(what); slices.Index(w.published, next) > slices.Index(w.published, mounted) {
			return next
		}
		return mounted
	}
	trusted, leaves := newer(o.trusted, "bundle"), newer(o.leaves, "leaf")
	if trusted == o.trusted && leaves == o.leaves {
		return false
	}
	o.trusted, o.leaves = trusted, leaves
	w.say("the kubelet of %s mounts something newer", p.name)
	return true
}

// loadMounted has a pod read what is mounted, which may be less than is published. What was taken away leaves it with what
// it has.
func (w *world) loadMounted(p *process, what parts) {
	o := p.pod
	if o.workload.startsOnly() {
		return
	}
	if w.latestPublication() != o.trusted || w.latestPublication() != o.leaves {
		w.counts.event(lateContent)
	}
	if what != onlyLeaves {
		p.readAnchors(o.trusted, o.leaves)
	}
	if what != onlyTrust {
		p.readLeaves(o.leaves)
	}
}

// heldUp notes the pods that have started with an older bundle and that a rotation waits for.
func (w *world) heldUp(a *trust.Assessment) {
	for _, p := range w.processes {
		if p.pod != nil && p.pod.stale && slices.ContainsFunc(a.Blockers, func(b trust.Blocker) bool { return b.Member == p.member }) {
			p.pod.stale = false
			w.counts.event(staleHeld)
		}
	}
}
