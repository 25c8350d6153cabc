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

// kubeletLag is how long a kubelet may mount an older version after a newer one is published.
const kubeletLag = 10 * time.Minute

// publication is the content of all bundles and leaves at one time.
type publication struct {
	pools  map[string]*pool
	leaves map[string]*pki.Certificate
	// beside are the anchors beside each leaf, nil if no process verifies by them.
	beside map[string]*pool
	// hashes are those of the contents by Kind/name, superseded the earlier ones. They are set only if a pod needs
	// them.
	hashes     map[string]string
	superseded map[string][]string
	// until is when a newer version was published, zero for the latest.
	until time.Time
}

// publishes records the present content, which kubelets may mount.
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

// latestPublication is what an up-to-date kubelet mounts.
func (w *world) latestPublication() *publication { return w.published[len(w.published)-1] }

// mountable draws what a kubelet mounts: the latest, or an earlier version that it has cached.
func (w *world) mountable(what string) *publication { return one(w.dice, what, w.allMountable()) }

// allMountable returns all versions that a kubelet may mount, the oldest first.
func (w *world) allMountable() []*publication {
	return slices.DeleteFunc(slices.Clone(w.published), func(p *publication) bool {
		return !p.until.IsZero() && w.clock.now().After(p.until.Add(kubeletLag))
	})
}

// mayBeLate reports whether a kubelet may have cached an older version. It may not between the observation that
// confirms a step and the write of the step: nothing is promised then.
func (w *world) mayBeLate() bool {
	n := len(w.published)
	return !w.nested && !w.faultless && n > 1 && !w.clock.now().After(w.published[n-2].until.Add(kubeletLag))
}

// startPod starts the container of a pod, for the first time or again, with what its kubelet has mounted. The
// kubelet may have cached a version older than the published one, and older than the one of the previous container.
// It does not do so if the pod's handshakes would fail now: that is assumed of kubelets (docs/protocol.md), and
// counted. The pod need not report before it takes traffic, as the API server knows of its start.
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

// startable reports whether a container of a pod can start, and has content to start with.
func (w *world) startable(p *process) bool {
	o := p.pod
	return !o.ended && !o.lost && !o.terminating && !o.unschedulable && len(w.published) > 0 && w.followed(p)
}

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

func (p *process) mounts(trusted, leaves *publication) {
	p.pools, p.leaves = map[string]*pool{}, map[string]*pki.Certificate{}
	p.readAnchors(trusted, leaves)
	p.readLeaves(leaves)
}

// readAnchors makes a process read the anchors of the bundle, or those beside its leaf.
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

// outrun reports whether a pod with cached content refuses a peer, is refused, or lacks the active CA.
func (w *world) outrun(p *process) bool {
	for _, d := range w.domains().Domains {
		anchors := p.pools[d.Name]
		if p.in(d.Name) && (!d.Bundle.Present || d.Signer.Active == nil || anchors == nil || !slices.ContainsFunc(anchors.anchors, d.Signer.Active.Equal)) {
			return true
		}
	}
	return w.strictly(func() error { return cmp.Or(w.checkHandshakes(), w.checkBundles()) }) != nil
}

// syncs lets the kubelet of a pod mount a newer version, which the process has not read yet.
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

// loadMounted makes a pod read what is mounted, which may be older than what is published. It keeps what it has of
// files that are gone.
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

// heldUp counts the pods that started with an older bundle and block a rotation.
func (w *world) heldUp(a *trust.Assessment) {
	for _, p := range w.processes {
		if p.pod != nil && p.pod.stale && slices.ContainsFunc(a.Blockers, func(b trust.Blocker) bool { return b.Member == p.member }) {
			p.pod.stale = false
			w.counts.event(staleHeld)
		}
	}
}
