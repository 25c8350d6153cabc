// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/ptr"
)

// Watch streams the changes of the selected objects. The options mean what they mean upstream. Without a resource
// version ("" or "0") the stream starts with an ADDED event for each object, unless initial events are declined. With
// one it resumes after that version, unless initial events are requested. Once the options are parsed and reads are
// served, an error is an ERROR event that ends the stream. A client that falls behind the history is cut off.
func (s *Store) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	key, err := storage.PrepareKey(s.cfg.ResourcePrefix, key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	requested, err := s.parse(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	start, err := s.readable()
	if err != nil {
		return nil, err
	}
	initial := ptr.Deref(opts.SendInitialEvents, requested == 0)
	if requested != 0 {
		if start, err = s.admit(ctx, requested, !initial, watchExpired); err != nil {
			return newEndedWatch(err), nil
		}
	}
	w := newWatcher(ctx, s, s.newSelection(key, opts), opts)
	w.cursor = start.revision
	if !initial && requested != 0 {
		w.cursor = requested
	}
	if !initial {
		start = nil
	}
	if !s.enter() {
		return newEndedWatch(nil), nil
	}
	go func() {
		defer s.running.Done()
		w.run(start)
	}()
	return w, nil
}

// endedWatch is a stream that has already ended, with at most one ERROR event.
type endedWatch struct {
	events chan watch.Event
}

var _ watch.Interface = (*endedWatch)(nil)

func newEndedWatch(err error) *endedWatch {
	w := &endedWatch{events: make(chan watch.Event, 1)}
	if err != nil {
		w.events <- watch.Event{Type: watch.Error, Object: statusOf(err)}
	}
	close(w.events)
	return w
}

// Stop does nothing: the stream has ended.
func (*endedWatch) Stop() {}

// ResultChan returns the closed channel.
func (w *endedWatch) ResultChan() <-chan watch.Event {
	return w.events
}

// statusOf returns the status of an API error, and an internal error for any other.
func statusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		status := api.Status()
		return &status
	}
	return &metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusInternalServerError,
		Reason:  metav1.StatusReasonInternalError,
		Message: err.Error(),
	}
}
