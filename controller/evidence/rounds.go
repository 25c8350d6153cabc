// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"sync"
	"time"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// rounds tracks the first observation of the members of each domain. Until then their records may be from before a
// restore, or from a time without a collector, so nothing may be signed based on them.
type rounds struct {
	mu      sync.Mutex
	domains map[domainKey]*round
	// ended are called when a round has ended.
	ended []func(namespace string)
}

type domainKey struct{ namespace, domain string }

// round is the first round of a domain.
type round struct {
	// waiting are the members that are not yet observed.
	waiting map[target]bool
	// written is when the last recorded observation of a member was made. A member leaves it once the inventory has
	// the record too.
	written map[target]time.Time
}

func (t target) domainKey() domainKey { return domainKey{namespace: t.namespace, domain: t.domain} }

// catchUp bounds the wait for the inventory to see a written record. A deleted record never arrives.
const catchUp = time.Minute

// LookedOnce reports whether this collector has observed every observable member of a domain, and the inventory has
// the results. A failed attempt counts as observed.
func (c *Collector) LookedOnce(namespace, domain string) bool {
	n := c.inventory.Namespace(namespace)
	if n == nil {
		return false
	}
	d := n.Domain(domain)
	return d != nil && c.rounds.over(d, c.clock.Now())
}

// OnLookedOnce registers fn, which is called when the first round of a domain in a namespace has ended. It must be
// called before Run. fn must not block.
func (c *Collector) OnLookedOnce(fn func(namespace string)) {
	c.rounds.ended = append(c.rounds.ended, fn)
}

// begin starts the round of a new domain. Members that join later do not prolong it.
func (r *rounds) begin(d *trust.Domain, subjects []*subject) {
	key := domainKey{namespace: d.Namespace, domain: d.Name}
	r.mu.Lock()
	known := r.domains[key] != nil
	if !known {
		first := &round{waiting: map[target]bool{}, written: map[target]time.Time{}}
		for _, s := range subjects {
			first.waiting[s.target] = true
		}
		r.domains[key] = first
	}
	r.mu.Unlock()
	if !known && len(subjects) == 0 {
		r.tell(d.Namespace)
	}
}

// awaits reports whether the first round still waits for a member.
func (r *rounds) awaits(t target) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.domains[t.domainKey()]
	return first != nil && first.waiting[t]
}

// wrote notes that a record was written, which the inventory does not have yet.
func (r *rounds) wrote(t target, seen []trust.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.domains[t.domainKey()]; first != nil && first.waiting[t] {
		first.written[t] = newest(seen)
	}
}

func (r *rounds) looked(t target) {
	r.mu.Lock()
	first := r.domains[t.domainKey()]
	last := first != nil && first.waiting[t] && len(first.waiting) == 1
	if first != nil {
		delete(first.waiting, t)
	}
	r.mu.Unlock()
	if last {
		r.tell(t.namespace)
	}
}

// keep deletes domains and members that no longer exist.
func (r *rounds) keep(namespace string, n *inventory.Namespace, exists map[target]bool) {
	over := false
	r.mu.Lock()
	for key, first := range r.domains {
		if key.namespace != namespace {
			continue
		}
		if n == nil || n.Domain(key.domain) == nil {
			delete(r.domains, key)
			continue
		}
		before := len(first.waiting)
		for t := range first.waiting {
			if !exists[t] {
				delete(first.waiting, t)
			}
		}
		over = over || (before > 0 && len(first.waiting) == 0)
	}
	r.mu.Unlock()
	if over {
		r.tell(namespace)
	}
}

// over reports whether the round of a domain has ended and the given domain includes its results.
func (r *rounds) over(d *trust.Domain, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.domains[domainKey{namespace: d.Namespace, domain: d.Name}]
	if first == nil || len(first.waiting) > 0 {
		return false
	}
	for t, at := range first.written {
		s := find(d, t)
		if s != nil && newest(s.member.Observations).Before(at) && now.Before(at.Add(catchUp)) {
			return false
		}
		delete(first.written, t)
	}
	return true
}

func (r *rounds) tell(namespace string) {
	for _, fn := range r.ended {
		fn(namespace)
	}
}

func newest(observations []trust.Observation) time.Time {
	var last time.Time
	for i := range observations {
		last = later(last, observations[i].ObservedAt)
	}
	return last
}
