// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"errors"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writeError is what the API server has answered to a write.
type writeError struct {
	verb string
	err  error
}

// Error implements error.
func (e *writeError) Error() string { return e.verb + ": " + e.err.Error() }

// Unwrap gives the answer.
func (e *writeError) Unwrap() error { return e.err }

// Verbs of writes.
const (
	verbCreate = "create"
	verbUpdate = "update"
	verbDelete = "delete"
)

// wrote counts a write and says in its error that it was one.
func (c *Controller) wrote(verb, resource string, err error) error {
	c.metrics.wrote(verb, resource, err)
	if err == nil {
		return nil
	}
	return &writeError{verb: verb, err: err}
}

// weight says what a failed write is worth.
type weight int

const (
	// hiccup: the same write may well succeed in a moment.
	hiccup weight = iota
	// doubtful: an internal error. That of a webhook that is down for good looks like one that restarts, and so does an
	// object that is too large for etcd, so it counts once it repeats.
	doubtful
	// refused: the API server has understood the write and says no to it.
	refused
)

// weigh judges the error of an action, and returns the write that failed; nil if it was none.
func weigh(err error) (*writeError, weight) {
	var failed *writeError
	var status apierrors.APIStatus
	if !errors.As(err, &failed) || !errors.As(failed.err, &status) ||
		apierrors.HasStatusCause(failed.err, corev1.NamespaceTerminatingCause) {
		return nil, hiccup
	}
	code := status.Status().Code
	switch code {
	case http.StatusNotFound, http.StatusConflict, http.StatusGone, // somebody was faster
		http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests: // not an answer to this write
		return failed, hiccup
	case http.StatusInternalServerError:
		if status.Status().Reason == metav1.StatusReasonServerTimeout {
			return failed, hiccup
		}
		return failed, doubtful
	}
	if code >= http.StatusBadRequest && code < http.StatusInternalServerError {
		return failed, refused
	}
	return failed, hiccup
}
