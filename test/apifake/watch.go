// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
)

// untold is how many changes a client may have missed before its watch ends as too slow.
const untold = remembered

// subscription is a client's watch.
type subscription struct {
	selection *selection
	// shape returns an object in the client's form.
	shape func(runtime.Object) (runtime.Object, error)
	// after is the version that the client has.
	after int

	mu     sync.Mutex
	events chan watch.Event
	closed bool
}

// ResultChan implements watch.Interface.
func (w *subscription) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *subscription) Stop() { w.close() }

func (w *subscription) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
}

func (w *subscription) ended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

func (w *subscription) end() {
	if !w.closed {
		w.closed = true
		close(w.events)
	}
}

// send sends an event. It ends the watch of a client that is too slow to take it.
func (w *subscription) send(e watch.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	select {
	case w.events <- e:
	default:
		w.end()
	}
}

// tell sends a change to the client if the change is selected and new to the client.
func (w *subscription) tell(c *change) {
	if c.key.GroupVersionResource != w.selection.resource || c.version <= w.after {
		return
	}
	var had, has bool
	if c.before != nil {
		had = w.selection.has(c.before)
	}
	if c.after != nil {
		has = w.selection.has(c.after)
	}
	switch {
	case had && has:
		w.show(watch.Modified, c.after, c.version)
	case has:
		w.show(watch.Added, c.after, c.version)
	case had:
		w.show(watch.Deleted, c.before, c.version)
	}
}

// show sends an object with its version.
func (w *subscription) show(kind watch.EventType, o object, version int) {
	shown := o.DeepCopyObject().(object)
	shown.SetResourceVersion(strconv.Itoa(version))
	shaped, err := w.shape(shown)
	if err != nil {
		w.send(watch.Event{Type: watch.Error, Object: &apierrors.NewInternalError(err).ErrStatus})
		return
	}
	w.send(watch.Event{Type: kind, Object: shaped})
}

// watch begins where the client asks, without a gap between its list and its events.
func (s *Server) watch(action clienttesting.Action, shape func(runtime.Object) (runtime.Object, error)) (watch.Interface, error) {
	s.note(action)
	r := requestOf(action)
	if err := s.befallsRead(r); err != nil {
		return nil, err
	}
	asked, ok := action.(clienttesting.WatchActionImpl)
	if !ok {
		return nil, refused(r)
	}
	opts := &asked.ListOptions
	empty, err := s.kinds.empty(r.Resource)
	if err != nil {
		return nil, err
	}
	selected, err := selectionOf(r.Resource, r.Namespace, empty.(object), opts)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &subscription{selection: selected, shape: shape, events: make(chan watch.Event, len(s.store.cached[r.Resource])+2*untold)}
	if err := s.catchUp(w, opts, empty.(object)); err != nil {
		return nil, err
	}
	s.store.watches = append(slices.DeleteFunc(s.store.watches, (*subscription).ended), w)
	return w, nil
}

// catchUp sends the events that the client asked for from before the watch.
func (s *Server) catchUp(w *subscription, opts *metav1.ListOptions, empty object) error {
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if initial || opts.ResourceVersion == "" || opts.ResourceVersion == anyVersion {
		objects, version := s.store.all(w.selection.resource, true)
		for _, o := range objects {
			if w.selection.has(o) {
				w.show(watch.Added, o, versionOf(o))
			}
		}
		w.after = version
		if initial && opts.AllowWatchBookmarks {
			empty.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
			w.show(watch.Bookmark, empty, version)
		}
		return nil
	}
	from, err := strconv.Atoi(opts.ResourceVersion)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid resource version %q", opts.ResourceVersion))
	}
	missed, err := s.store.since(from)
	if err != nil {
		return err
	}
	w.after = from
	for i := range missed {
		w.tell(&missed[i])
	}
	return nil
}

func versionOf(o object) int {
	version, err := strconv.Atoi(o.GetResourceVersion())
	if err != nil {
		return 0
	}
	return version
}
