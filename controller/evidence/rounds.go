// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"sync"
	"time"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// rounds are the first looks at the members of each domain. What is recorded of them may be from before a restore, or from
// a time when nobody looked, so nothing is to be signed on it.
type rounds struct {
	mu      sync.Mutex
	domains map[domainKey]*round
	// ended is called when a round has ended.
	ended []func(namespace string)
}

type domainKey struct{ namespace, domain string }

// round is the first one of a domain.
type round struct {
	// waiting are the members that were not looked at yet.
	waiting map[target]bool
	// written is when what was written of a member was seen; it leaves the map when the inventory has it too.
	written map[target]time.Time
}

func (t target) domainKey() domainKey { return domainKey{namespace: t.namespace, domain: t.domain} }

// catchUp is how long the inventory may take to know what was written. A record that somebody has deleted never comes.
const catchUp = time.Minute

// LookedOnce says whether every member of a domain that somebody has to look at was looked at since this collector runs, and
// the inventory knows what was seen. A member that cannot be observed has been looked at when the attempt is over.
func (c *Collector) LookedOnce(namespace, domain string) bool {
	n := c.inventory.Namespace(namespace)
	if n == nil {
		return false
	}
	d := n.Domain(domain)
	return d != nil && c.rounds.over(d, c.clock.Now())
}

// OnLookedOnce has fn called when the first round of a domain in a namespace has ended. It must be called before Run. fn
// must not block.
func (c *Collector) OnLookedOnce(fn func(namespace string)) {
	c.rounds.ended = append(c.rounds.ended, fn)
}

// begin begins the round of a domain that was not seen before. Members that join later do not prolong it.
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

// awaits says whether a member is still to be looked at in the first round.
func (r *rounds) awaits(t target) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.domains[t.domainKey()]
	return first != nil && first.waiting[t]
}

// wrote notes that a record was written; the inventory will know it a moment later.
func (r *rounds) wrote(t target, seen []trust.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.domains[t.domainKey()]; first != nil && first.waiting[t] {
		first.written[t] = newest(seen)
	}
}

// looked notes that a member was looked at.
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

// keep forgets domains and members that do not exist any more.
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

// over says whether the round of a domain has ended, and whether the domain, as it is given, knows what was seen.
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

// newest is when the last of the observations was made.
func newest(observations []trust.Observation) time.Time {
	var last time.Time
	for i := range observations {
		last = later(last, observations[i].ObservedAt)
	}
	return last
}
