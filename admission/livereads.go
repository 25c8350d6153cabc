// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"sync"

	"certrotation.dev/registry/view/inventory"
)

// maxWaiting bounds how many reviews of one namespace wait for live reads: a quarter of those that are judged at a time.
const maxWaiting = maxInFlight / 4

// liveReads has one live read of a namespace at a time, whatever the number of those who ask. Nobody gets what was read
// before they asked: who comes while a read is under way shares the next one with all who come until that begins.
//
// It starts no goroutine. One of those who wait for a read makes it.
type liveReads struct {
	make func(ctx context.Context, namespace string) (*inventory.Sources, error)

	mu         sync.Mutex
	namespaces map[string]*namespaceReads
}

// namespaceReads are the reads of one namespace.
type namespaceReads struct {
	// token is taken by who makes a read.
	token chan struct{}
	// next is the read that has not begun, nil if nobody waits for one.
	next *liveRead
	// waiting counts those who need the entry.
	waiting int
}

// liveRead is one read. Its result may be looked at when done is closed.
type liveRead struct {
	done    chan struct{}
	sources *inventory.Sources
	err     error
}

func newLiveReads(read func(ctx context.Context, namespace string) (*inventory.Sources, error)) *liveReads {
	return &liveReads{make: read, namespaces: map[string]*namespaceReads{}}
}

// read returns what a read found that began after the call, or the error of ctx.
func (l *liveReads) read(ctx context.Context, namespace string) (*inventory.Sources, error) {
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
	return mine.sources, mine.err
}

// perform makes the read that the caller waits for, unless somebody has while the caller got the token.
func (l *liveReads) perform(ctx context.Context, namespace string, n *namespaceReads, mine *liveRead) {
	defer func() { <-n.token }()
	select {
	case <-mine.done:
		return
	default:
	}
	// From here on nobody joins it: it begins.
	l.mu.Lock()
	n.next = nil
	l.mu.Unlock()
	defer close(mine.done)
	// What stands if the read ends in a panic.
	mine.err = errUnconfirmed
	mine.sources, mine.err = l.make(ctx, namespace)
}

// join returns the read of the namespace that begins next, nil if too many wait for it: a namespace whose reads are slow must
// not use up what is there for the reviews of all.
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
