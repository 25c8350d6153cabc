// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// exitUnasked is the exit code of a command that could not ask the cluster.
const exitUnasked = 2

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// unlessMissing gives a failed read the code of a command that could not ask, unless only the object is missing.
func unlessMissing(err error) error {
	if apierrors.IsNotFound(err) && !notInstalled(err) {
		return err
	}
	return &exitError{exitUnasked, err}
}
