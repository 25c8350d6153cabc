// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	btree "k8s.io/apiserver/pkg/storage/cacher/store"
)

// event is one change of one key. After publication only its shared objects and retired are written, and both are
// safe for concurrent use.
type event struct {
	revision uint64
	at       time.Time
	key      string
	// previous is nil for a creation, current for a deletion.
	previous, current *btree.Element

	// after serves ADDED and MODIFIED, departed serves DELETED. Both are made on first use.
	after, departed atomic.Pointer[sharedObject]
	// retired events return unshared objects: the history then keeps only the encodings of the newest events in
	// memory.
	retired atomic.Bool
}

func (e *event) afterObject() runtime.Object {
	if shared := e.after.Load(); shared != nil {
		return shared
	}
	return e.share(&e.after, newSharedObject(e.current.Object))
}

// departedObject returns the last state before the event, at the revision of the event. It serves watches whose
// selection the object has left: it was deleted or is no longer selected.
func (e *event) departedObject(stamp func(runtime.Object, uint64) error) (runtime.Object, error) {
	if shared := e.departed.Load(); shared != nil {
		return shared, nil
	}
	last := e.previous.Object.DeepCopyObject()
	if err := stamp(last, e.revision); err != nil {
		return nil, err
	}
	return e.share(&e.departed, newSharedObject(last)), nil
}

// share offers an object to all watchers of the event, and returns the one that they share.
func (e *event) share(slot *atomic.Pointer[sharedObject], mine *sharedObject) runtime.Object {
	if e.retired.Load() || slot.CompareAndSwap(nil, mine) {
		return mine
	}
	if winner := slot.Load(); winner != nil {
		return winner
	}
	return mine
}

// retire releases the shared objects. A watcher that is sending one may put it back. That only costs memory until the
// event leaves the history.
func (e *event) retire() {
	e.retired.Store(true)
	e.after.Store(nil)
	e.departed.Store(nil)
}
