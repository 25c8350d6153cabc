// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"certrotation.dev/registry/trust"
)

// longestPause is between probes of a member that is not seen to follow in the stage Stable: after each probe the interval
// doubles up to that. It does not end, as a machine may come back after hours.
const longestPause = 5 * time.Minute

// attempts are those at a member that is not proven to follow in the stage Stable.
type attempts struct {
	// content names what the member is expected to have loaded, and what is known of why it would now.
	content string
	count   int
	// settled says that nothing more is to be seen of this content.
	settled bool
	// waiting says that the member is in the queue, and patient that it may stay there for minutes.
	waiting, patient bool
}

// expect has the attempts begin anew if they were for other content, and says whether they were.
func (a *attempts) expect(content string) (changed bool) {
	if changed = a.content != content; changed {
		a.content, a.count, a.settled = content, 0, false
	}
	return changed
}

// watched remembers which members are in the queue, so that a change of the namespace does not probe them again and
// again.
type watched struct {
	mu      sync.Mutex
	targets map[target]attempts
}

// begin says whether a member is to be put into the queue because of what it is expected to have loaded.
func (w *watched) begin(t target, inFlight bool, content string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.targets[t]
	changed := a.expect(content)
	// One that waits patiently is called at once when there is something new to see.
	called := a.waiting && a.patient && (changed || inFlight)
	start := (!a.waiting || called) && (inFlight || !a.settled)
	if start {
		a.waiting, a.patient = true, false
	}
	w.targets[t] = a
	return start
}

// next counts an attempt and returns how many there were before, for the same content.
func (w *watched) next(t target, inFlight bool, content string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.targets[t]
	a.expect(content)
	before := a.count
	a.count++
	a.patient = !inFlight
	w.targets[t] = a
	return before
}

// rest takes a member out of the queue and keeps the count of its attempts.
func (w *watched) rest(t target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a, ok := w.targets[t]; ok {
		a.waiting = false
		w.targets[t] = a
	}
}

// settle takes a member out of the queue until something else is expected of it.
func (w *watched) settle(t target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a, ok := w.targets[t]; ok {
		a.waiting, a.settled = false, true
		w.targets[t] = a
	}
}

// keep forgets the members of a namespace that do not exist any more.
func (w *watched) keep(namespace string, exists map[target]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.targets {
		if t.namespace == namespace && !exists[t] {
			delete(w.targets, t)
		}
	}
}

// fanOut puts every member of a namespace into the queue that is worth a probe and not there yet.
func (c *Collector) fanOut(ctx context.Context, namespace string) {
	exists := map[target]bool{}
	n := c.inventory.Namespace(namespace)
	if n != nil {
		for _, d := range n.Domains {
			c.fanOutDomain(d, exists)
			c.fanOutPlaced(n, d, exists)
		}
	}
	c.watched.keep(namespace, exists)
	c.pods.follow(ctx, namespace, n != nil && slices.ContainsFunc(n.Domains, func(d *trust.Domain) bool { return len(placed(d)) > 0 }))
}

func (c *Collector) fanOutDomain(d *trust.Domain, exists map[target]bool) {
	subjects := probed(d)
	if len(subjects) == 0 {
		return
	}
	a := trust.Assess(d, c.clock.Now())
	for _, s := range subjects {
		exists[s.target] = true
		if s.worth(a) && c.watched.begin(s.target, a.InFlight(), s.content(a)) {
			c.queue.Add(s.target)
		}
	}
}

// visit probes a member, if it is still worth it, and says after what time to come again; zero for not at all.
func (c *Collector) visit(ctx context.Context, t target) (time.Duration, error) {
	var d *trust.Domain
	if n := c.inventory.Namespace(t.namespace); n != nil {
		d = n.Domain(t.domain)
	}
	s := find(d, t)
	if s == nil {
		c.watched.rest(t)
		return 0, nil
	}
	if s.member.Probe == nil {
		return c.visitPlaced(ctx, s)
	}
	a := trust.Assess(d, c.clock.Now())
	before := c.watched.next(t, a.InFlight(), s.content(a))
	if !s.worth(a) {
		c.watched.rest(t)
		return 0, nil
	}
	err := c.observe(ctx, s)
	interval := s.member.Probe.Interval
	if interval <= 0 {
		interval = fallbackInterval
	}
	if !a.InFlight() {
		interval = max(interval, min(interval<<min(before, 10), longestPause))
	}
	return jitter(interval), err
}

// jitter spreads an interval by a tenth, so that many members are not probed in step.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*0.1*float64(d)) //nolint:gosec // no secret depends on it
}

// subject is a member that is observed, in its domain.
type subject struct {
	target
	d      *trust.Domain
	member *trust.Member
}

// probed lists the members of a domain that are probed.
func probed(d *trust.Domain) []*subject {
	return members(d, func(_ *trust.Party, m *trust.Member) bool { return m.Probe != nil })
}

func members(d *trust.Domain, chosen func(*trust.Party, *trust.Member) bool) []*subject {
	var out []*subject
	for i := range d.Parties {
		p := &d.Parties[i]
		for j := range p.Members {
			if m := &p.Members[j]; chosen(p, m) {
				out = append(out, &subject{
					target: target{namespace: d.Namespace, domain: d.Name, party: p.Name, member: m.Name}, d: d, member: m,
				})
			}
		}
	}
	return out
}

func find(d *trust.Domain, t target) *subject {
	if d == nil {
		return nil
	}
	for _, s := range append(probed(d), placed(d)...) {
		if s.target == t {
			return s
		}
	}
	return nil
}

// worth says whether a look at the member could tell anything that matters: always in flight, and in the stage Stable
// while it is not proven to have followed.
func (s *subject) worth(a *trust.Assessment) bool {
	if a.InFlight() {
		return true
	}
	if s.unissued() {
		return false
	}
	for _, m := range a.Members {
		if m.Party == s.party && m.Member == s.target.member {
			return a.Newest != nil && (!m.Trusted || !m.Delivered)
		}
	}
	return false
}

// unissued says whether a leaf that the member presents, or that it is probed with, does not exist yet. Until it does,
// as in a bootstrap, a probe can only fail.
func (s *subject) unissued() bool {
	needed := append([]string{s.member.Probe.ClientLeaf}, s.member.Holds...)
	return slices.ContainsFunc(s.d.Leaves, func(l trust.Leaf) bool {
		return l.Certificate == nil && slices.Contains(needed, l.Name)
	})
}

// content names what the member is expected to have loaded. Where a static pod is known to run what was placed on its
// node, what that is counts too: when it changes, there is something new to see in a handshake.
func (s *subject) content(a *trust.Assessment) string {
	var parts []string
	if a.Newest != nil {
		parts = append(parts, string(a.Newest.Fingerprint))
	}
	for _, name := range s.member.Holds {
		for i := range s.d.Leaves {
			if l := &s.d.Leaves[i]; l.Name == name && l.Certificate != nil {
				parts = append(parts, string(l.Certificate.Fingerprint))
			}
		}
	}
	for i := range s.d.Parties {
		if s.d.Parties[i].Kind == trust.StaticPodRevision {
			parts = append(parts, s.runs(&s.d.Parties[i]))
		}
	}
	return strings.Join(parts, " ")
}

// runs names what the static pod of the same name runs with, "" if that is not known.
func (s *subject) runs(p *trust.Party) string {
	for i := range p.Members {
		if m := &p.Members[i]; m.Name == s.target.member && m.Probe == nil && m.Observation != nil {
			return fmt.Sprint(m.Observation.Trusts, m.Observation.Presents, m.Observation.StartedAt.Unix())
		}
	}
	return ""
}
