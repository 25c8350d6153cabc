// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrStale means that an object has changed since a decision about it. The caller retries with the new object.
var ErrStale = errors.New("the object has changed since the decision")

// Stale turns NotFound, for an object that a decision was about, into ErrStale.
func Stale(err error) error {
	if apierrors.IsNotFound(err) {
		return ErrStale
	}
	return err
}

// Gone ignores NotFound, for deletions.
func Gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// WriteError is the API server's error for a write.
type WriteError struct {
	Verb string
	Err  error
}

// Error implements error.
func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap returns the API server's error.
func (e *WriteError) Unwrap() error { return e.Err }

// Benign reports whether an error is no fault: another writer was faster, the namespace terminates, or one of also
// accepts the error. Joined errors are benign only if each is.
func Benign(err error, also ...func(error) bool) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, single := range joined.Unwrap() {
			if !Benign(single, also...) {
				return false
			}
		}
		return true
	}
	return errors.Is(err, ErrStale) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		slices.ContainsFunc(also, func(is func(error) bool) bool { return is(err) })
}

// Results in metrics.
const (
	done     = "done"
	conflict = "conflict"
	failed   = "error"
)

// Result names the outcome of a write.
func Result(err error) string {
	switch {
	case err == nil:
		return done
	case Benign(err):
		return conflict
	}
	return failed
}
