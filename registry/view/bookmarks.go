// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

const (
	bookmarkInterval = time.Minute
	bookmarkJitter   = 0.25
	// bookmarkHeadStart is how long before its deadline a stream gets a last bookmark. The client then resumes from a
	// recent revision.
	bookmarkHeadStart = 2 * time.Second
	// progressInterval is for in-process callers that ask for progress notifications.
	progressInterval = 5 * time.Second
)

// bookmarks schedules the bookmarks of one stream. Nil schedules none.
type bookmarks struct {
	clock    clock.WithTicker
	interval time.Duration
	deadline time.Time
	timer    clock.Timer
	marked   bool
}

// newBookmarks returns the schedule of a stream that ends with ctx, nil if the client wants no bookmarks.
func newBookmarks(ctx context.Context, clk clock.WithTicker, allowed, progress bool) *bookmarks {
	b := &bookmarks{clock: clk, interval: bookmarkInterval}
	switch {
	case progress:
		b.interval = progressInterval
	case !allowed:
		return nil
	}
	b.deadline, _ = ctx.Deadline()
	b.timer = clk.NewTimer(b.next())
	return b
}

// next returns the time until the next bookmark. The last bookmark comes bookmarkHeadStart before the deadline. The
// one after it would come after the deadline and is never sent.
func (b *bookmarks) next() time.Duration {
	interval := wait.Jitter(b.interval, bookmarkJitter)
	if b.deadline.IsZero() {
		return interval
	}
	last := b.deadline.Sub(b.clock.Now()) - bookmarkHeadStart
	if last <= 0 {
		return interval + bookmarkHeadStart
	}
	return min(interval, last)
}

// due fires when a bookmark should be sent.
func (b *bookmarks) due() <-chan time.Time {
	if b == nil {
		return nil
	}
	return b.timer.C()
}

// mark notes that the timer fired.
func (b *bookmarks) mark() {
	b.marked = true
}

// take reports whether a bookmark is due, and schedules the next one if so.
func (b *bookmarks) take() bool {
	if b == nil || !b.marked {
		return false
	}
	b.marked = false
	b.timer.Reset(b.next())
	return true
}

func (b *bookmarks) stop() {
	if b != nil {
		b.timer.Stop()
	}
}
