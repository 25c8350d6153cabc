// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is what happens to a request instead of success. Its text names it in tests.
type Fault string

const (
	// NoFault means that the request succeeds.
	NoFault Fault = ""
	// Conflict fails a write as if another client had been faster. It is not stored.
	Conflict Fault = "conflict"
	// AlreadyExists fails a creation as if another client had been faster. It is not stored.
	AlreadyExists Fault = "already exists"
	// Forbidden fails a write for lack of rights, by a quota or by an admission webhook. It is not stored.
	Forbidden Fault = "forbidden"
	// InternalError fails a write as a broken server, or one that cannot call a webhook. It is not stored.
	InternalError Fault = "internal error"
	// Unavailable fails a write as a server that starts or is overloaded. It is not stored.
	Unavailable Fault = "unavailable"
	// TimeoutBeforeWrite answers a write with a timeout. It is not stored.
	TimeoutBeforeWrite Fault = "timeout before the write"
	// TimeoutAfterWrite stores a write and answers it with a timeout.
	TimeoutAfterWrite Fault = "timeout after the write"
	// CrashBeforeWrite ends the client's process before the write. None of its later writes arrives.
	CrashBeforeWrite Fault = "crash before the write"
	// CrashAfterWrite stores the write, and the client's process ends. None of its later writes arrives.
	CrashAfterWrite Fault = "crash after the write"
	// FailedRead fails a read.
	FailedRead Fault = "failed read"
	// NotServed fails a request because the server does not have the resource. Nothing is stored.
	NotServed Fault = "not served"
)

// WriteFaults returns the faults for any kind of write.
func WriteFaults() []Fault {
	return []Fault{Conflict, Forbidden, InternalError, Unavailable, TimeoutBeforeWrite, TimeoutAfterWrite, CrashBeforeWrite, CrashAfterWrite}
}

// ErrCrash is the error of each write after the client's process has died.
var ErrCrash = errors.New("the process is dead")

var errInjected = errors.New("injected")

// Before returns the error of a request that is not executed, nil if it is.
func (f Fault) Before(resource schema.GroupResource, name string) error {
	switch f {
	case Conflict:
		return apierrors.NewConflict(resource, name, errInjected)
	case AlreadyExists:
		return apierrors.NewAlreadyExists(resource, name)
	case Forbidden:
		return apierrors.NewForbidden(resource, name, errInjected)
	case InternalError, FailedRead:
		return apierrors.NewInternalError(errInjected)
	case Unavailable:
		return apierrors.NewServiceUnavailable(errInjected.Error())
	case TimeoutBeforeWrite:
		return apierrors.NewTimeoutError(errInjected.Error(), 0)
	case CrashBeforeWrite:
		return ErrCrash
	case NotServed:
		return apierrors.NewGenericServerResponse(http.StatusNotFound, "", resource, name, "", 0, true)
	case NoFault, TimeoutAfterWrite, CrashAfterWrite:
	}
	return nil
}

// After returns the error of an executed write, nil for success.
func (f Fault) After() error {
	switch f {
	case TimeoutAfterWrite:
		return apierrors.NewTimeoutError(errInjected.Error(), 0)
	case CrashAfterWrite:
		return ErrCrash
	case NoFault, Conflict, AlreadyExists, Forbidden, InternalError, Unavailable, TimeoutBeforeWrite, CrashBeforeWrite, FailedRead, NotServed:
	}
	return nil
}

// Kills reports whether the fault ends the client's process.
func (f Fault) Kills() bool { return f == CrashBeforeWrite || f == CrashAfterWrite }
