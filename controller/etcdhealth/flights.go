// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"context"
	"sync"

	"certrotation.dev/registry/quorum"
)

// flights lets callers with the same question share a check, but never one that began before they asked.
type flights struct {
	mu   sync.Mutex
	keys map[string]*line
}

// line holds the checks for one question: the one that runs, and the one that starts after it.
type line struct {
	running, next *flight
}

// flight is one check. o and err may be read once done is closed.
type flight struct {
	ctx     context.Context
	cancel  context.CancelFunc
	waiting int
	done    chan struct{}

	o   quorum.Observation
	err error
}

type checkFunc func(ctx context.Context) (quorum.Observation, error)

// share waits for a check that begins after the call.
func (f *flights) share(ctx context.Context, key string, check checkFunc) (quorum.Observation, error) {
	own := f.board(ctx, key, check)
	select {
	case <-own.done:
		f.leave(own)
		return own.o, own.err
	case <-ctx.Done():
		f.leave(own)
		return quorum.Observation{}, ctx.Err()
	}
}

// board joins the next check, and starts it if none runs. A check that its last caller has left accepts no new
// callers.
func (f *flights) board(ctx context.Context, key string, check checkFunc) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.keys[key]
	if l == nil {
		l = &line{}
		f.keys[key] = l
	}
	if l.next == nil || l.next.ctx.Err() != nil {
		l.next = &flight{done: make(chan struct{})}
		// All waiting callers share the check, so the first one's ctx must not cancel it.
		l.next.ctx, l.next.cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
	own := l.next
	own.waiting++
	if l.running == nil {
		f.start(key, l, check)
	}
	return own
}

// start starts the next check of a line, or deletes a line without one. The caller holds f.mu.
func (f *flights) start(key string, l *line, check checkFunc) {
	l.running, l.next = l.next, nil
	if l.running == nil {
		delete(f.keys, key)
		return
	}
	go f.fly(key, l, l.running, check)
}

func (f *flights) fly(key string, l *line, running *flight, check checkFunc) {
	// Even after a panic, callers are released and the next check starts.
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		close(running.done)
		f.start(key, l, check)
	}()
	running.err = context.Canceled
	running.o, running.err = check(running.ctx)
}

// leave removes a caller and cancels the check with its last one.
func (f *flights) leave(own *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if own.waiting--; own.waiting == 0 {
		own.cancel()
	}
}
