// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// worldClock is the true time. The goroutines of queues read it too.
type worldClock struct{ nanoseconds atomic.Int64 }

func (c *worldClock) now() time.Time { return time.Unix(0, c.nanoseconds.Load()).UTC() }

func (c *worldClock) set(t time.Time) { c.nanoseconds.Store(t.UnixNano()) }

// offClock is the clock of a leader: the world's clock plus an offset. Its timers never fire, because events decide
// when a leader reconciles.
type offClock struct {
	world *worldClock
	off   time.Duration
}

var _ clock.WithTicker = (*offClock)(nil)

// Now implements clock.PassiveClock.
func (c *offClock) Now() time.Time { return c.world.now().Add(c.off) }

// Since implements clock.PassiveClock.
func (c *offClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// After implements clock.Clock.
func (c *offClock) After(time.Duration) <-chan time.Time { return nil }

// NewTimer implements clock.Clock.
func (c *offClock) NewTimer(time.Duration) clock.Timer { return never{} }

// Tick implements clock.Clock.
func (c *offClock) Tick(time.Duration) <-chan time.Time { return nil }

// Sleep implements clock.Clock. It returns at once: time passes only by events.
func (c *offClock) Sleep(time.Duration) {}

// NewTicker implements clock.WithTicker.
func (c *offClock) NewTicker(time.Duration) clock.Ticker { return noTicker{} }

// never is a timer that does not fire.
type never struct{}

func (never) C() <-chan time.Time      { return nil }
func (never) Stop() bool               { return true }
func (never) Reset(time.Duration) bool { return true }

type noTicker struct{}

func (noTicker) C() <-chan time.Time { return nil }
func (noTicker) Stop()               {}
