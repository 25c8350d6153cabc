// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"certrotation.dev/registry/trust"
)

// Defaults for probes without their own settings.
const (
	fallbackTimeout  = 5 * time.Second
	fallbackInterval = 5 * time.Second
)

// maxProcesses bounds the recorded processes of one member. RecordedEvidence has the same bound.
const maxProcesses = 256

// After probes have differed, the failure stays until no probe has differed for quietIntervals, and for leastQuiet.
const (
	quietIntervals = 12
	leastQuiet     = time.Minute
)

// atOnce bounds the concurrently observed processes of one member.
const atOnce = 8

// observe observes a member and records the result if it is new, or if its lease needs renewal. It returns what was
// seen. An observation cut short by the end of ctx says nothing about the member.
func (c *Collector) observe(ctx context.Context, s *subject, renew func(seen []trust.Observation) bool) ([]trust.Observation, error) {
	// The subject may be older than the record. Then observe again and compare with the record.
	for {
		seen, err := observerOf(s.relying.Kind).observe(c, ctx, s)
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

// probeObserver probes the servers of a member at its addresses.
var probeObserver = observer{kind: trust.TLSProbe, has: hasProbes, observe: (*Collector).lookProbes}

func hasProbes(m *trust.Member) bool { return len(m.Probes) > 0 }

func (c *Collector) lookProbes(ctx context.Context, s *subject) ([]trust.Observation, error) {
	looks := &looks{permits: make(chan struct{}, atOnce)}
	for i := range s.member.Probes {
		looks.running.Go(func() { c.lookProbe(ctx, s, &s.member.Probes[i], looks) })
	}
	looks.running.Wait()
	slices.SortFunc(looks.seen, func(x, y trust.Observation) int { return cmp.Compare(x.Instance, y.Instance) })
	seen := slices.CompactFunc(looks.seen, func(x, y trust.Observation) bool { return x.Instance == y.Instance })
	if len(seen) > maxProcesses {
		seen = c.tooMany(s, len(seen))
	}
	return seen, looks.err
}

func (c *Collector) tooMany(s *subject, processes int) []trust.Observation {
	failure := fmt.Sprintf("its addresses lead to %d processes, more than the %d of one member: name them apart, in several members",
		processes, maxProcesses)
	var out []trust.Observation
	for i := range s.member.Probes[:min(len(s.member.Probes), maxProcesses)] {
		out = append(out, *c.observation(s, &s.member.Probes[i], "", &probeResult{failure: failure}))
	}
	return out
}

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

// lookProbe probes every process behind one address.
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
		looks.add(c.observation(s, probe, "", &probeResult{failure: failure}))
		return
	}
	domain := domainMatcherOf(s)
	for _, endpoint := range endpoints {
		looks.running.Go(func() {
			looks.permits <- struct{}{}
			defer func() { <-looks.permits }()
			looks.add(c.lookTwice(ctx, s, &place{probe: probe, endpoint: endpoint, anchors: s.d.Bundle.Anchors, domain: domain}, id))
		})
	}
}

// lookTwice probes a process, and confirms a result that is better than the record. Once the record says that
// processes at an address differ, it stays until it expires without another difference. If one of many processes
// lags, a few probes soon miss it.
func (c *Collector) lookTwice(ctx context.Context, s *subject, at *place, id *identity) *trust.Observation {
	at.patience = &patience{left: timeoutOf(at.probe)}
	before := s.known(s.instance(at.probe, at.endpoint), c.clock.Now())
	found := c.look(ctx, at, id, s.relying, false)
	if found.improvesOn(before) {
		found = c.confirm(ctx, at, id, s.relying, found)
	}
	if found.detail != "" {
		logger := klog.FromContext(ctx)
		if before != nil && before.Failure == found.failure {
			logger = logger.V(4)
		}
		logger.Info("A process cannot be observed", "address", at.probe.Address, "endpoint", at.endpoint, "met", found.detail)
	}
	if before != nil && before.Failure == differing(at.probe.Address) && found.failure == "" {
		return before
	}
	return c.observation(s, at.probe, at.endpoint, found)
}

// observation converts a probe's result at an endpoint, which is empty if there is none. If the server was not met,
// it keeps from earlier observations what counts against the process: the leaves that it may still present.
func (c *Collector) observation(s *subject, probe *trust.Probe, endpoint string, found *probeResult) *trust.Observation {
	now := c.now()
	o := &trust.Observation{
		Instance: s.instance(probe, endpoint), Kind: s.relying.Kind, Address: probe.Address,
		Trusts: found.trusts, TrustedSubjects: found.subjects, Presents: found.presents, RecoveredUntil: found.until,
		ObservedAt: now, Expires: now.Add(lease), Failure: found.failure,
	}
	if found.failure == differing(probe.Address) {
		o.Expires = now.Add(min(lease, max(leastQuiet, quietIntervals*intervalOf(probe))))
	}
	if found.met {
		return o
	}
	for i := range s.member.Observations {
		before := &s.member.Observations[i]
		if s.mayBe(before, o, endpoint) && s.live(before, now) {
			o.Presents, o.RecoveredUntil = union(o.Presents, before.Presents), later(o.RecoveredUntil, before.RecoveredUntil)
		}
	}
	return o
}

// mayBe reports whether an earlier observation may be of the process that could not be observed at an endpoint.
// Without an endpoint, that is any process behind the address. A pod's process is the same at any address.
func (s *subject) mayBe(before, o *trust.Observation, endpoint string) bool {
	if s.member.Pod != nil {
		return before.Instance == o.Instance
	}
	return before.Address == o.Address && (endpoint == "" || before.Instance == o.Instance)
}

func later(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// now returns the time with the precision of records.
func (c *Collector) now() time.Time { return c.clock.Now().UTC().Truncate(time.Microsecond) }

// ended returns an error if ctx has ended. A connection's deadline may fire a moment before that of its ctx; such a
// failure is not the member's fault either.
func ended(ctx context.Context) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func intervalOf(probe *trust.Probe) time.Duration {
	if probe.Interval <= 0 {
		return fallbackInterval
	}
	return probe.Interval
}

func timeoutOf(probe *trust.Probe) time.Duration {
	if probe.Timeout <= 0 {
		return fallbackTimeout
	}
	return probe.Timeout
}
