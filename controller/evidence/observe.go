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

// Defaults of a probe whose configuration gives none.
const (
	fallbackTimeout  = 5 * time.Second
	fallbackInterval = 5 * time.Second
)

// maxProcesses of one member are recorded: the bound of RecordedEvidence.
const maxProcesses = 256

// Where looks were seen to differ, none may do so for so many intervals, and for so long, before that is forgotten.
const (
	quietIntervals = 12
	leastQuiet     = time.Minute
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
	switch {
	case s.placed():
		return c.lookPlaced(ctx, s)
	case s.targeted():
		return c.lookTarget(ctx, s)
	case s.relying.Kind == trust.Mounted:
		return c.lookMounted(ctx, s)
	case !s.probed():
		return c.lookStarted(ctx, s)
	}
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

// tooMany is what is known of a member with more processes than its record can hold.
func (c *Collector) tooMany(s *subject, processes int) []trust.Observation {
	failure := fmt.Sprintf("its addresses lead to %d processes, more than the %d of one member: name them apart, in several members",
		processes, maxProcesses)
	var out []trust.Observation
	for i := range s.member.Probes[:min(len(s.member.Probes), maxProcesses)] {
		out = append(out, *c.observation(s, &s.member.Probes[i], "", &sighting{failure: failure}))
	}
	return out
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
	kin := kinOf(s)
	for _, endpoint := range endpoints {
		looks.running.Go(func() {
			looks.permits <- struct{}{}
			defer func() { <-looks.permits }()
			looks.add(c.lookTwice(ctx, s, &place{probe: probe, endpoint: endpoint, anchors: s.d.Bundle.Anchors, kin: kin}, id))
		})
	}
}

// lookTwice looks at a process, and closely at one that shows more than is recorded of it. Where several were seen to answer,
// they are believed to be one, or to agree, when for some time no look has shown otherwise: with one of many that lags, a few
// looks are soon all lucky. Until then what was seen stays as it is.
func (c *Collector) lookTwice(ctx context.Context, s *subject, at *place, id *identity) *trust.Observation {
	at.patience = &patience{left: timeoutOf(at.probe)}
	before := s.known(s.instance(at.probe, at.endpoint), c.clock.Now())
	found := c.look(ctx, at, id, s.relying, false)
	if found.promises(before) {
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

// observation is what was found at an endpoint, "" if there is none. Where nothing could be seen, what counts against the
// process is taken from before: the leaves that it may still present.
func (c *Collector) observation(s *subject, probe *trust.Probe, endpoint string, found *sighting) *trust.Observation {
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

// mayBe says whether what could not be seen at an endpoint may be the process of an earlier observation: any of those behind
// its address if it leads nowhere now. The process of a pod is the same at whatever address.
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
