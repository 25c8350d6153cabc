// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"container/list"
	"sync"
)

// turns is the storage of a workqueue. It offers only keys of namespaces that may hold one more worker, and serves
// the namespaces in turn. The workqueue calls Push, Pop, Len and Touch under its own lock; release is called without
// it.
type turns[T comparable] struct {
	namespaceOf func(T) string
	share       int

	mu sync.Mutex
	// namespaces are those with keys or busy workers.
	namespaces map[string]*waiting[T]
	// ready are the *waiting with keys that may hold one more worker, the next one first.
	ready *list.List
	// offered is the number of keys that could be popped in a row without a release.
	offered int
}

// waiting is one namespace.
type waiting[T comparable] struct {
	name string
	keys []T
	// held is how many workers work on its keys.
	held int
	// turn is its element in ready, or nil.
	turn *list.Element
}

func newTurns[T comparable](namespaceOf func(T) string, share int) *turns[T] {
	return &turns[T]{namespaceOf: namespaceOf, share: share, namespaces: map[string]*waiting[T]{}, ready: list.New()}
}

// Touch leaves a waiting key where it is.
func (t *turns[T]) Touch(T) {}

// Push appends a key to its namespace.
func (t *turns[T]) Push(key T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(t.namespaceOf(key), func(w *waiting[T]) { w.keys = append(w.keys, key) })
}

// Len returns how many keys may be popped now. Keys that wait for their namespace's share do not count, so that a
// worker sleeps rather than takes one.
func (t *turns[T]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.offered
}

// Pop takes the oldest key of the next namespace, which then waits behind all others. It is called only when Len is
// positive.
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

func (t *turns[T]) release(key T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.change(t.namespaceOf(key), func(w *waiting[T]) { w.held-- })
}

// change changes a namespace and updates the counts. The caller holds t.mu.
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
