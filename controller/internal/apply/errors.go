// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrStale says that an object is not the one any more that a decision was about. It is looked at again.
var ErrStale = errors.New("the object has changed since the decision")

// Stale turns the absence of an object that a decision was about into ErrStale.
func Stale(err error) error {
	if apierrors.IsNotFound(err) {
		return ErrStale
	}
	return err
}

// Gone makes the absence of an object that is to be deleted no error.
func Gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// WriteError is what the API server has answered to a write.
type WriteError struct {
	Verb string
	Err  error
}

// Error implements error.
func (e *WriteError) Error() string { return e.Err.Error() }

// Unwrap gives the answer.
func (e *WriteError) Unwrap() error { return e.Err }

// Benign says whether an error only means that somebody else was faster, or that the namespace goes away; or something else
// that a caller takes for no fault. Of errors that were joined each has to be.
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

// Results of writes, and of what is made of them, in metrics.
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
