// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"sync"
)

// maxWaiting bounds the reviews of one namespace that wait for live reads: a quarter of all that may be in flight.
const maxWaiting = maxInFlight / 4

// liveReads makes one live read of a namespace at a time, however many reviews ask for one. A review never gets a
// read that began before it asked: reviews that arrive during a read share the next one.
//
// It starts no goroutine. One of the waiting reviews makes the read.
type liveReads struct {
	make func(ctx context.Context, namespace string) (*state, error)

	mu         sync.Mutex
	namespaces map[string]*namespaceReads
}

type namespaceReads struct {
	// token is held by the review that makes a read.
	token chan struct{}
	// next is the read that has not begun, nil if no review waits for one.
	next *liveRead
	// waiting counts the reviews that use this entry.
	waiting int
}

// liveRead is one read. Its result is valid once done is closed.
type liveRead struct {
	done  chan struct{}
	state *state
	err   error
}

func newLiveReads(read func(ctx context.Context, namespace string) (*state, error)) *liveReads {
	return &liveReads{make: read, namespaces: map[string]*namespaceReads{}}
}

// read returns the result of a read that began after the call, or the error of ctx, or errBusy.
func (l *liveReads) read(ctx context.Context, namespace string) (*state, error) {
	n, mine := l.join(namespace)
	if mine == nil {
		return nil, errBusy
	}
	defer l.leave(namespace, n)
	select {
	case <-mine.done:
	case n.token <- struct{}{}:
		l.perform(ctx, namespace, n, mine)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return mine.state, mine.err
}

// perform makes the read that the caller waits for, unless another review made it while the caller waited for the
// token.
func (l *liveReads) perform(ctx context.Context, namespace string, n *namespaceReads, mine *liveRead) {
	defer func() { <-n.token }()
	select {
	case <-mine.done:
		return
	default:
	}
	// The read begins, so no review may join it any more.
	l.mu.Lock()
	n.next = nil
	l.mu.Unlock()
	defer close(mine.done)
	// The result if the read panics.
	mine.err = errUnconfirmed
	mine.state, mine.err = l.make(ctx, namespace)
}

// join returns the read of the namespace that begins next, nil if too many reviews wait for it: a namespace with slow
// reads must not use up the capacity of all namespaces.
func (l *liveReads) join(namespace string) (*namespaceReads, *liveRead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.namespaces[namespace]
	if n == nil {
		n = &namespaceReads{token: make(chan struct{}, 1)}
		l.namespaces[namespace] = n
	}
	if n.waiting >= maxWaiting {
		return nil, nil
	}
	if n.next == nil {
		n.next = &liveRead{done: make(chan struct{})}
	}
	n.waiting++
	return n, n.next
}

func (l *liveReads) leave(namespace string, n *namespaceReads) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n.waiting--; n.waiting == 0 {
		delete(l.namespaces, namespace)
	}
}
