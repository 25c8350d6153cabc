// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// fault is what can go wrong with a request.
type fault string

// Faults of writes, and failedRead.
const (
	noFault       fault = ""
	conflict      fault = "conflict"
	internalError fault = "internal error"
	timeoutBefore fault = "timeout before the write"
	timeoutAfter  fault = "timeout after the write"
	crashBefore   fault = "crash before the write"
	crashAfter    fault = "crash after the write"
	failedRead    fault = "failed read"
)

// errDead is what a leader gets that has crashed.
var errDead = errors.New("the process is dead")

func writeFaults() []fault {
	return []fault{conflict, internalError, timeoutBefore, timeoutAfter, crashBefore, crashAfter}
}

// before returns the error of a fault that comes before the write, nil if there is none.
func (f fault) before(name string) error {
	switch f {
	case conflict:
		return apierrors.NewConflict(secretResource, name, errors.New("injected"))
	case internalError:
		return apierrors.NewInternalError(errors.New("injected"))
	case timeoutBefore:
		return apierrors.NewTimeoutError("injected", 0)
	case crashBefore:
		return errDead
	case noFault, timeoutAfter, crashAfter, failedRead:
	}
	return nil
}

// after returns the error of a fault that comes after the write, nil if there is none.
func (f fault) after() error {
	switch f {
	case timeoutAfter:
		return apierrors.NewTimeoutError("injected", 0)
	case crashAfter:
		return errDead
	case noFault, conflict, internalError, timeoutBefore, crashBefore, failedRead:
	}
	return nil
}
