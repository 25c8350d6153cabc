// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"container/list"
	"sync"
)

// turns is the storage of a workqueue: it offers only keys of namespaces that may have one more worker, and the namespaces in
// turn. The workqueue calls Push, Pop, Len and Touch under its own lock; release comes from outside of it.
type turns[T comparable] struct {
	namespaceOf func(T) string
	share       int

	mu sync.Mutex
	// namespaces that have keys or workers.
	namespaces map[string]*waiting[T]
	// ready are the namespaces that have keys and may have one more worker, whose turn comes next in front.
	ready *list.List
	// offered is the number of keys that could be taken one after the other without a release.
	offered int
}

// waiting is one namespace.
type waiting[T comparable] struct {
	name string
	keys []T
	// held is how many workers work on keys of it.
	held int
	// turn is its place in ready, nil if it has none.
	turn *list.Element
}

func newTurns[T comparable](namespaceOf func(T) string, share int) *turns[T] {
	return &turns[T]{namespaceOf: namespaceOf, share: share, namespaces: map[string]*waiting[T]{}, ready: list.New()}
}

// Touch leaves a key that waits where it is.
func (t *turns[T]) Touch(T) {}

// Push has a key wait for the turn of its namespace.
func (t *turns[T]) Push(key T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(t.namespaceOf(key), func(w *waiting[T]) { w.keys = append(w.keys, key) })
}

// Len is how many keys may be taken now. A key that waits for its namespace's share is as good as not there: a worker that
// asks sleeps rather than takes it.
func (t *turns[T]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.offered
}

// Pop takes the oldest key of the namespace whose turn it is, and has that wait behind all others. It is called only when Len
// is positive.
func (t *turns[T]) Pop() T {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.ready.Front().Value.(*waiting[T])
	t.ready.MoveToBack(w.turn)
	var key, none T
	t.change(w.name, func(w *waiting[T]) {
		key, w.keys[0] = w.keys[0], none
		w.keys = w.keys[1:]
		w.held++
	})
	return key
}

// release gives back the worker of a key that was taken.
func (t *turns[T]) release(key T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(t.namespaceOf(key), func(w *waiting[T]) { w.held-- })
}

// change does something to a namespace and keeps what is counted of it. The caller holds t.mu.
func (t *turns[T]) change(name string, do func(*waiting[T])) {
	w := t.namespaces[name]
	if w == nil {
		w = &waiting[T]{name: name}
		t.namespaces[name] = w
	}
	t.offered -= t.offeredBy(w)
	do(w)
	offered := t.offeredBy(w)
	t.offered += offered
	switch {
	case offered > 0 && w.turn == nil:
		w.turn = t.ready.PushBack(w)
	case offered == 0 && w.turn != nil:
		t.ready.Remove(w.turn)
		w.turn = nil
	}
	if len(w.keys) == 0 && w.held == 0 {
		delete(t.namespaces, name)
	}
}

func (t *turns[T]) offeredBy(w *waiting[T]) int {
	return min(len(w.keys), t.share-w.held)
}
