// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// longestPause bounds the doubling interval between observations, in the stage Stable, of a member that does not
// follow. They never end, because a machine may come back after hours. It is less than half a lease, so that what the
// member does instead stays known.
const longestPause = 2 * time.Minute

// longestSilence bounds the interval, in flight, between probes of a pod that does not answer: it may begin to answer
// without a restart.
const longestSilence = 30 * time.Second

// fanOut enqueues every member of a namespace that is worth observing and not queued yet.
func (c *Collector) fanOut(ctx context.Context, namespace string) {
	exists := map[target]bool{}
	n := c.inventory.Namespace(namespace)
	if n != nil {
		for _, d := range n.Domains {
			c.fanOutDomain(n, d, exists)
		}
	}
	c.watched.keep(namespace, exists)
	c.rounds.keep(namespace, n, exists)
	c.assessments.keep(namespace, n)
	c.pods.follow(ctx, namespace, n != nil && slices.ContainsFunc(n.Domains, hasPlaced))
}

func hasPlaced(d *trust.Domain) bool { return slices.ContainsFunc(observed(d), (*subject).placed) }

func (c *Collector) fanOutDomain(n *inventory.Namespace, d *trust.Domain, exists map[target]bool) {
	subjects := observed(d)
	c.rounds.begin(d, subjects)
	if len(subjects) == 0 {
		return
	}
	a := c.assessments.get(d, c.clock.Now())
	for _, s := range subjects {
		exists[s.target] = true
		if c.worth(s, a) && c.watched.begin(s.target, a.InFlight(), s.expectation(n, a)) {
			c.queue.Add(s.target)
		}
	}
}

// worth reports whether an observation of the member could matter.
func (c *Collector) worth(s *subject, a *assessed) bool {
	return s.told() || a.InFlight() || c.rounds.awaits(s.target) || s.behind(a)
}

// visit observes a member if it is still worth it. It returns the time until the next visit, or zero for none.
func (c *Collector) visit(ctx context.Context, t target) (time.Duration, error) {
	n := c.inventory.Namespace(t.namespace)
	if n == nil {
		c.watched.dequeued(t)
		return 0, nil
	}
	s := find(n.Domain(t.domain), t)
	if s == nil {
		c.watched.dequeued(t)
		return 0, nil
	}
	a := c.assessments.get(s.d, c.clock.Now())
	before := c.watched.next(t, a.InFlight(), s.expectation(n, a))
	if !c.worth(s, a) {
		// A member that was seen to follow in flight needs no observation when that lapses.
		c.watched.done(t)
		return 0, nil
	}
	lags := false
	seen, err := c.observe(ctx, s, func(seen []trust.Observation) bool {
		lags = !a.InFlight() && s.lags(seen, c.now())
		return lags || a.InFlight() || c.rounds.awaits(t)
	})
	if err != nil {
		return jitter(fallbackInterval), err
	}
	c.rounds.looked(t)
	return c.pause(s, a, seen, lags, before), nil
}

// pause returns the time until the next observation of a member, or zero to wait for an event. In the stage Stable,
// members that follow wait for an event, because nothing is lost when their evidence lapses. Members that do not
// follow are observed again, so that what they do instead stays known. For static pods that cannot be observed, and
// for pods that read their files only at start, any relevant change is an event.
func (c *Collector) pause(s *subject, a *assessed, seen []trust.Observation, lags bool, before int) time.Duration {
	failed := slices.ContainsFunc(seen, func(o trust.Observation) bool { return o.Failure != "" })
	switch {
	case a.InFlight() && !s.told():
		// Evidence must not lapse before the next observation, even with a long interval.
		return jitter(min(s.interval()<<min(c.silence(s, seen), 10), max(s.interval(), longestSilence), longestPause))
	case a.InFlight(), s.placed() && lags && !failed:
		return jitter(longestPause)
	case s.told(), !lags:
		c.watched.done(s.target)
		return 0
	}
	return jitter(max(s.interval(), min(s.interval()<<min(before, 10), longestPause)))
}

// silence returns how many probes of a pod in a row got no answer. Thousands of pods may be silent, as after the loss
// of a node, and each probe takes its timeout. A restart triggers a probe at once.
func (c *Collector) silence(s *subject, seen []trust.Observation) int {
	if s.member.Pod == nil {
		return 0
	}
	return c.watched.answered(s.target, !slices.ContainsFunc(seen, func(o trust.Observation) bool {
		return o.Failure == dial.Unproven || o.Address == ""
	}))
}

func (s *subject) interval() time.Duration {
	if len(s.member.Probes) == 0 {
		return fallbackInterval
	}
	shortest := intervalOf(&s.member.Probes[0])
	for i := range s.member.Probes {
		shortest = min(shortest, intervalOf(&s.member.Probes[i]))
	}
	return shortest
}

// jitter adds up to a tenth, so that members are not observed in step.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*0.1*float64(d)) //nolint:gosec // no secret depends on it
}
