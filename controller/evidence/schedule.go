// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"certrotation.dev/controller/evidence/connection"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// longestPause is between looks at a member that is not seen to follow in the stage Stable: after each the interval doubles
// up to that. It does not end, as a machine may come back after hours, and is short enough for the lease of what it was
// seen to do instead.
const longestPause = 2 * time.Minute

// longestSilence is between looks at a pod that does not answer, in flight: it need not be restarted to begin to answer.
const longestSilence = 30 * time.Second

// fanOut puts every member of a namespace into the queue that is worth a look and not there yet.
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
	c.pods.follow(ctx, namespace, n != nil && slices.ContainsFunc(n.Domains, hasPlaced))
}

func hasPlaced(d *trust.Domain) bool { return slices.ContainsFunc(observed(d), (*subject).placed) }

func (c *Collector) fanOutDomain(n *inventory.Namespace, d *trust.Domain, exists map[target]bool) {
	subjects := observed(d)
	c.rounds.begin(d, subjects)
	if len(subjects) == 0 {
		return
	}
	a := trust.Assess(d, c.clock.Now())
	for _, s := range subjects {
		exists[s.target] = true
		if c.worth(s, a) && c.watched.begin(s.target, a.InFlight(), s.expectation(n, a)) {
			c.queue.Add(s.target)
		}
	}
}

// worth says whether a look at the member could tell anything that matters.
func (c *Collector) worth(s *subject, a *trust.Assessment) bool {
	return !s.probed() || a.InFlight() || c.rounds.awaits(s.target) || s.behind(a)
}

// visit looks at a member, if it is still worth it, and says after what time to come again; zero for not at all.
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
	a := trust.Assess(s.d, c.clock.Now())
	before := c.watched.next(t, a.InFlight(), s.expectation(n, a))
	if !c.worth(s, a) {
		// What was seen to follow in flight need not be looked at again when that lapses.
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

// pause is until the next look at a member, zero if there is to be none before something happens. In the stage Stable that is
// so for who follows: what was seen of it lapses, and that costs nothing. Who does not follow is looked at again, so that
// what it does instead goes on to be known. A static pod that cannot be observed makes an event when that changes, and so does whatever
// could tell more of a pod that reads its files only when it starts.
func (c *Collector) pause(s *subject, a *trust.Assessment, seen []trust.Observation, lags bool, before int) time.Duration {
	failed := slices.ContainsFunc(seen, func(o trust.Observation) bool { return o.Failure != "" })
	switch {
	case a.InFlight() && s.probed():
		// Whatever the interval is, what was seen is not to lapse before the next look.
		return jitter(min(s.interval()<<min(c.silence(s, seen), 10), max(s.interval(), longestSilence), longestPause))
	case a.InFlight(), s.placed() && lags && !failed:
		return jitter(longestPause)
	case !s.probed(), !lags:
		c.watched.done(s.target)
		return 0
	}
	return jitter(max(s.interval(), min(s.interval()<<min(before, 10), longestPause)))
}

// silence is for how many looks in a row nobody has answered at a pod. There may be thousands of them, as when a node is lost,
// and each look at one costs its timeout; what it runs after a restart is looked at at once.
func (c *Collector) silence(s *subject, seen []trust.Observation) int {
	if s.member.Pod == nil {
		return 0
	}
	return c.watched.answered(s.target, !slices.ContainsFunc(seen, func(o trust.Observation) bool {
		return o.Failure == connection.Unproven || o.Address == ""
	}))
}

// interval is the shortest of the probes.
func (s *subject) interval() time.Duration {
	shortest := intervalOf(&s.member.Probes[0])
	for i := range s.member.Probes {
		shortest = min(shortest, intervalOf(&s.member.Probes[i]))
	}
	return shortest
}

// jitter spreads an interval by a tenth, so that many members are not looked at in step.
func jitter(d time.Duration) time.Duration {
	return d + time.Duration(rand.Float64()*0.1*float64(d)) //nolint:gosec // no secret depends on it
}
