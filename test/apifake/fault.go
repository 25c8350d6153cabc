// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is what befalls a request. Its text names it in tests.
type Fault string

const (
	// NoFault is a request that is answered.
	NoFault Fault = ""
	// Conflict of a write: somebody else was faster. It has not happened.
	Conflict Fault = "conflict"
	// AlreadyExists is the conflict of a creation: somebody else was faster. It has not happened.
	AlreadyExists Fault = "already exists"
	// Forbidden is no right, a quota, or an admission webhook. It has not happened.
	Forbidden Fault = "forbidden"
	// InternalError of the server, or of a webhook that it cannot call. It has not happened.
	InternalError Fault = "internal error"
	// Unavailable is a server that is starting, or has too much to do. It has not happened.
	Unavailable Fault = "unavailable"
	// TimeoutBeforeWrite has not happened: the client is told that it took too long.
	TimeoutBeforeWrite Fault = "timeout before the write"
	// TimeoutAfterWrite has happened, and the client is told that it took too long.
	TimeoutAfterWrite Fault = "timeout after the write"
	// CrashBeforeWrite has not happened: the process of the client is dead. None of its later writes arrives.
	CrashBeforeWrite Fault = "crash before the write"
	// CrashAfterWrite has happened, and the process of the client is dead. None of its later writes arrives.
	CrashAfterWrite Fault = "crash after the write"
	// FailedRead is a read that is not answered.
	FailedRead Fault = "failed read"
	// NotServed is a resource that the server does not have. Nothing has happened.
	NotServed Fault = "not served"
)

// WriteFaults are those that befall a write of any kind.
func WriteFaults() []Fault {
	return []Fault{Conflict, Forbidden, InternalError, Unavailable, TimeoutBeforeWrite, TimeoutAfterWrite, CrashBeforeWrite, CrashAfterWrite}
}

// ErrCrash is what each write gets after the process of the client is dead.
var ErrCrash = errors.New("the process is dead")

var errInjected = errors.New("injected")

// Before is the answer to a request that does not happen, nil if it happens.
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

// After is the answer to a write that has happened, nil for what there is now.
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

// Kills says whether the process of the client is dead afterwards.
func (f Fault) Kills() bool { return f == CrashBeforeWrite || f == CrashAfterWrite }
