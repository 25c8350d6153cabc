// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"
	"k8s.io/klog/v2"
)

const (
	// resultBuffer is how many events are buffered for a client.
	resultBuffer = 16
	// chunkSize is how many events a watcher takes from the history at a time.
	chunkSize = 64
)

// watcher is one stream. Its goroutine reads the history at its own pace. The writer does not know the watchers, so a
// slow one delays no other. That goroutine owns all fields but results.
type watcher struct {
	store     *Store
	selection selection
	results   chan watch.Event
	ctx       context.Context
	cancel    context.CancelFunc

	// cursor is the revision up to which every event was delivered or not selected.
	cursor    uint64
	chunk     []*event
	bookmarks *bookmarks
	// markInitialEnd requests a bookmark after the initial events.
	markInitialEnd bool
}

var _ watch.Interface = (*watcher)(nil)

func newWatcher(ctx context.Context, s *Store, selected selection, opts storage.ListOptions) *watcher {
	ctx, cancel := context.WithCancel(ctx)
	allowed := selected.predicate.AllowWatchBookmarks
	return &watcher{
		store:          s,
		selection:      selected,
		results:        make(chan watch.Event, resultBuffer),
		ctx:            ctx,
		cancel:         cancel,
		chunk:          make([]*event, 0, chunkSize),
		bookmarks:      newBookmarks(ctx, s.cfg.Clock, allowed, opts.ProgressNotify),
		markInitialEnd: allowed && opts.SendInitialEvents != nil && *opts.SendInitialEvents,
	}
}

// Stop ends the stream. The client can still receive events that are already buffered.
func (w *watcher) Stop() {
	w.cancel()
}

// ResultChan returns the channel of events. It is closed at the end of the stream.
func (w *watcher) ResultChan() <-chan watch.Event {
	return w.results
}

// run streams until the client stops, the store stops, or the stream falls behind the history. It first sends a
// non-nil state as initial events.
func (w *watcher) run(initial *state) {
	defer close(w.results)
	defer w.cancel()
	defer w.bookmarks.stop()
	if initial != nil && !w.sendInitial(initial) {
		return
	}
	w.stream()
}

// stream sends the events after the cursor. It is a function of its own so that the initial state is not kept in
// memory for the lifetime of the stream.
func (w *watcher) stream() {
	if !w.catchUp() {
		return
	}
	utilflowcontrol.WatchInitialized(w.ctx)
	for w.wait() {
		if !w.catchUp() {
			return
		}
		if w.bookmarks.take() && !w.sendBookmark(false) {
			return
		}
	}
}

func (w *watcher) sendInitial(initial *state) bool {
	read := listRead{selection: w.selection, state: initial, revision: initial.revision}
	elements, err := read.candidates()
	if err != nil {
		return w.fail(err)
	}
	for _, element := range elements {
		if w.selection.matches(element) && !w.send(watch.Event{Type: watch.Added, Object: element.Object.DeepCopyObject()}) {
			return false
		}
	}
	return !w.markInitialEnd || w.sendBookmark(true)
}

// catchUp sends the events of the history after the cursor.
func (w *watcher) catchUp() bool {
	for {
		events, next, complete := w.store.current.Load().eventsAfter(w.cursor, w.chunk)
		if !complete {
			return w.cut()
		}
		for _, e := range events {
			if !w.deliver(e) {
				return false
			}
			w.cursor = e.revision
		}
		clear(events)
		w.cursor = next
		if len(events) < cap(w.chunk) {
			return true
		}
	}
}

// wait returns true when there is something to do, false at the end of the stream.
func (w *watcher) wait() bool {
	select {
	case <-w.bookmarks.due():
		// Checked first: a busy resource always has a next event, and a client whose selection matches few events
		// depends on the bookmarks.
		w.bookmarks.mark()
		return w.alive()
	default:
	}
	current := w.store.current.Load()
	if current.revision > w.cursor {
		return w.alive()
	}
	select {
	case <-current.superseded:
	case <-w.bookmarks.due():
		w.bookmarks.mark()
	case <-w.ctx.Done():
	case <-w.store.lifetime.Done():
	}
	return w.alive()
}

func (w *watcher) alive() bool {
	return w.ctx.Err() == nil && w.store.lifetime.Err() == nil
}

// deliver sends the event as this selection sees it. An object can enter or leave the selection without being created
// or deleted.
func (w *watcher) deliver(e *event) bool {
	if !w.selection.covers(e.key) {
		return true
	}
	was, is := w.selection.matches(e.previous), w.selection.matches(e.current)
	switch {
	case is && was:
		return w.send(watch.Event{Type: watch.Modified, Object: e.afterObject()})
	case is:
		return w.send(watch.Event{Type: watch.Added, Object: e.afterObject()})
	case was:
		object, err := e.departedObject(w.store.cfg.Versioner.UpdateObject)
		if err != nil {
			return w.fail(err)
		}
		return w.send(watch.Event{Type: watch.Deleted, Object: object})
	default:
		return true
	}
}

func (w *watcher) sendBookmark(initialEnd bool) bool {
	object, err := w.bookmark(initialEnd)
	if err != nil {
		return w.fail(err)
	}
	return w.send(watch.Event{Type: watch.Bookmark, Object: object})
}

func (w *watcher) bookmark(initialEnd bool) (runtime.Object, error) {
	object := w.store.cfg.NewFunc()
	if err := w.store.cfg.Versioner.UpdateObject(object, w.cursor); err != nil {
		return nil, fmt.Errorf("version of a bookmark: %w", err)
	}
	if !initialEnd {
		return object, nil
	}
	if err := storage.AnnotateInitialEventsEndBookmark(object); err != nil {
		return nil, fmt.Errorf("annotate a bookmark: %w", err)
	}
	return object, nil
}

// send waits for room in the results. It returns false at the end of the stream, or once the history has dropped the
// events that would follow.
func (w *watcher) send(e watch.Event) bool {
	for w.alive() {
		current := w.store.current.Load()
		if w.cursor < current.floor {
			return w.cut()
		}
		select {
		case w.results <- e:
			return true
		case <-current.superseded:
		case <-w.ctx.Done():
		case <-w.store.lifetime.Done():
		}
	}
	return false
}

// cut ends the stream of a client that fell behind. It sends no event: the client resumes from its last revision, and
// then learns whether that has expired.
func (w *watcher) cut() bool {
	klog.FromContext(w.ctx).V(2).Info("Cut off a watch that fell behind the history",
		"resource", w.store.cfg.Resource, "key", w.selection.key, "cursor", w.cursor)
	return false
}

func (w *watcher) fail(err error) bool {
	w.send(watch.Event{Type: watch.Error, Object: statusOf(err)})
	return false
}
