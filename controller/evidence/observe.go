// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"certrotation.dev/registry/trust"
)

// Defaults of a probe whose configuration gives none.
const (
	fallbackTimeout  = 5 * time.Second
	fallbackInterval = 5 * time.Second
)

// atOnce bounds the processes of one member that are looked at at a time.
const atOnce = 8

// observe looks at a member and records what it says, if that is news, or if its lease is to be renewed. It returns what
// was seen. A look that was cut short because ctx has ended says nothing about the member.
func (c *Collector) observe(ctx context.Context, s *subject, renew func(seen []trust.Observation) bool) ([]trust.Observation, error) {
	// What is compared with may be older than the record. Then the comparison is made again, with the record.
	for {
		seen, err := c.processes(ctx, s)
		if err := cmp.Or(err, ended(ctx)); err != nil {
			return nil, err
		}
		recorded, err := c.record(ctx, s, seen, renew(seen))
		if err != nil {
			return nil, err
		}
		if recorded == nil {
			return seen, nil
		}
		s = s.with(recorded.observations)
	}
}

// processes looks at all live processes of a member.
func (c *Collector) processes(ctx context.Context, s *subject) ([]trust.Observation, error) {
	if len(s.member.Probes) == 0 {
		return c.lookPlaced(ctx, s)
	}
	looks := &looks{permits: make(chan struct{}, atOnce)}
	for i := range s.member.Probes {
		looks.running.Go(func() { c.lookProbe(ctx, s, &s.member.Probes[i], looks) })
	}
	looks.running.Wait()
	slices.SortFunc(looks.seen, func(x, y trust.Observation) int { return cmp.Compare(x.Instance, y.Instance) })
	seen := slices.CompactFunc(looks.seen, func(x, y trust.Observation) bool { return x.Instance == y.Instance })
	return seen, looks.err
}

// looks are those at the processes of one member.
type looks struct {
	running sync.WaitGroup
	permits chan struct{}

	mu   sync.Mutex
	seen []trust.Observation
	err  error
}

func (l *looks) add(o *trust.Observation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, *o)
}

func (l *looks) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = cmp.Or(l.err, err)
}

// lookProbe looks at every process behind one address.
func (c *Collector) lookProbe(ctx context.Context, s *subject, probe *trust.Probe, looks *looks) {
	resolving, cancel := context.WithTimeout(ctx, timeoutOf(probe))
	defer cancel()
	id, err := c.identify(resolving, s, probe)
	if err != nil {
		looks.fail(err)
		return
	}
	endpoints, failure := c.resolve(resolving, probe)
	if failure != "" {
		looks.add(c.observation(s, probe, "", &sighting{failure: failure}))
		return
	}
	for _, endpoint := range endpoints {
		looks.running.Go(func() {
			looks.permits <- struct{}{}
			defer func() { <-looks.permits }()
			at := &place{probe: probe, endpoint: endpoint, anchors: s.d.Bundle.Anchors}
			looks.add(c.observation(s, probe, endpoint, c.lookTwice(ctx, s, at, id)))
		})
	}
}

// lookTwice looks at a process, and closely at one that shows more than is recorded of it.
func (c *Collector) lookTwice(ctx context.Context, s *subject, at *place, id *identity) *sighting {
	looking, cancel := context.WithTimeout(ctx, timeoutOf(at.probe))
	defer cancel()
	found := c.look(looking, at, id, s.relying, false)
	if !found.promises(s.known(instanceOf(at.probe.Address, at.endpoint), c.clock.Now())) {
		return found
	}
	return c.confirm(ctx, at, id, s.relying, found)
}

// observation is what was found at an endpoint, "" if there is none. Where nothing could be seen, what counts against the
// process is taken from before: the leaves that it may still present.
func (c *Collector) observation(s *subject, probe *trust.Probe, endpoint string, found *sighting) *trust.Observation {
	now := c.now()
	o := &trust.Observation{
		Instance: instanceOf(probe.Address, endpoint), Kind: s.relying.Kind, Address: probe.Address,
		Trusts: found.trusts, TrustedSubjects: found.subjects, Presents: found.presents, RecoveredUntil: found.until,
		ObservedAt: now, Expires: now.Add(lease), Failure: found.failure,
	}
	if found.met {
		return o
	}
	for i := range s.member.Observations {
		before := &s.member.Observations[i]
		if before.Address == o.Address && (endpoint == "" || before.Instance == o.Instance) && s.live(before, now) {
			o.Presents, o.RecoveredUntil = union(o.Presents, before.Presents), later(o.RecoveredUntil, before.RecoveredUntil)
		}
	}
	return o
}

func later(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// now is the time with the precision that a record keeps.
func (c *Collector) now() time.Time { return c.clock.Now().UTC().Truncate(time.Microsecond) }

// ended says whether ctx has ended. The deadline of a connection may fire a moment before that of the context it was
// taken from; what was seen then is as little the member's doing.
func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func timeoutOf(probe *trust.Probe) time.Duration {
	if probe.Timeout <= 0 {
		return fallbackTimeout
	}
	return probe.Timeout
}
