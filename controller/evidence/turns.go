// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"k8s.io/component-base/metrics"

	"certrotation.dev/controller/evidence/connection"
)

// DefaultHandshakesPerSecond are enough to look at 5,000 pods, each with four handshakes, within a Refresh.
const DefaultHandshakesPerSecond = 200

// turns spread the handshakes with all members evenly over time, in the order in which they are asked for.
type turns struct {
	limit *rate.Limiter
	waits *Waits
}

func newTurns(perSecond int, waits *Waits) *turns {
	return &turns{limit: rate.NewLimiter(rate.Limit(perSecond), 1), waits: waits}
}

// wait returns when a handshake may begin, or with an error when ctx has ended: not before, though it may be known that the
// turn comes too late, so that who asks whether ctx has ended sees it.
func (t *turns) wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	turn := t.limit.Reserve()
	delay := turn.Delay()
	if delay <= 0 {
		return nil
	}
	begun := time.Now()
	defer func() { t.waits.add(time.Since(begun)) }()
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		turn.Cancel()
		return ctx.Err()
	}
}

// patience is how long connections to one process may take together. The time for which they wait for their turn is none of
// it: whoever is looked at has no part in that.
type patience struct{ left time.Duration }

// begin bounds a connection by what is left. It is followed by end, which takes off what the connection has taken.
func (p *patience) begin(ctx context.Context) (_ context.Context, end func()) {
	begun := time.Now()
	bounded, cancel := context.WithTimeout(ctx, p.left)
	return bounded, func() {
		cancel()
		p.left -= time.Since(begun)
	}
}

// Waits says how long handshakes have waited for their turn. It may be nil, and used from anywhere.
type Waits struct{ total *metrics.Counter }

// NewWaits returns a counter that is registered nowhere yet.
func NewWaits() *Waits {
	return &Waits{total: metrics.NewCounter(&metrics.CounterOpts{
		Namespace: "certrotation", Name: "evidence_waited_seconds_total", StabilityLevel: metrics.ALPHA,
		Help: "Time that handshakes with relying parties have waited because of --handshakes-per-second, summed over all of them.",
	})}
}

// Register makes the metric visible.
func (w *Waits) Register(r connection.Registry) { r.MustRegister(w.total) }

func (w *Waits) add(waited time.Duration) {
	if w != nil {
		w.total.Add(waited.Seconds())
	}
}
