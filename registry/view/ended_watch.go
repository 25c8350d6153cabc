// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// endedWatch is a stream that is over before it began, with at most an ERROR event in it.
type endedWatch struct {
	events chan watch.Event
}

var _ watch.Interface = (*endedWatch)(nil)

// newEndedWatch returns a stream with the error as its only event, or an empty one for nil.
func newEndedWatch(err error) *endedWatch {
	w := &endedWatch{events: make(chan watch.Event, 1)}
	if err != nil {
		w.events <- watch.Event{Type: watch.Error, Object: statusOf(err)}
	}
	close(w.events)
	return w
}

// Stop does nothing: there is nothing to stop.
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
