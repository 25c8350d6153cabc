// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"k8s.io/component-base/metrics"

	"certrotation.dev/controller/dial"
)

// DefaultHandshakesPerSecond is enough to probe 5,000 pods, with four handshakes each, within a Refresh.
const DefaultHandshakesPerSecond = 200

// turns spreads the handshakes with all members evenly over time, first come, first served.
type turns struct {
	limit *rate.Limiter
	waits *Waits
}

func newTurns(perSecond int, waits *Waits) *turns {
	return &turns{limit: rate.NewLimiter(rate.Limit(perSecond), 1), waits: waits}
}

// wait returns nil when a handshake may begin. It returns an error only once ctx has ended, even if the turn is known
// to come too late: callers check ctx.
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

// patience is how long all connections to one process together may take. Waiting for a turn does not count, because
// it is not the server's fault.
type patience struct{ left time.Duration }

// begin bounds a connection by the time left. The caller must call end, which subtracts the time that it took.
func (p *patience) begin(ctx context.Context) (_ context.Context, end func()) {
	begun := time.Now()
	bounded, cancel := context.WithTimeout(ctx, p.left)
	return bounded, func() {
		cancel()
		p.left -= time.Since(begun)
	}
}

// Waits counts the time that handshakes wait for their turn. It may be nil and is safe for concurrent use.
type Waits struct{ total *metrics.Counter }

// NewWaits returns an unregistered counter.
func NewWaits() *Waits {
	return &Waits{total: metrics.NewCounter(&metrics.CounterOpts{
		Namespace: "certrotation", Name: "evidence_waited_seconds_total", StabilityLevel: metrics.ALPHA,
		Help: "Time that handshakes with relying parties have waited because of --handshakes-per-second, summed over all of them.",
	})}
}

// Register registers the metric.
func (w *Waits) Register(r dial.Registry) { r.MustRegister(w.total) }

func (w *Waits) add(waited time.Duration) {
	if w != nil {
		w.total.Add(waited.Seconds())
	}
}
