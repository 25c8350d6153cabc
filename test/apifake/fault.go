// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package apifake

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Write is a write of a client that is about to happen.
type Write struct {
	// Number counts writes, from 1.
	Number      int
	Verb        string
	Subresource string
	Resource    schema.GroupVersionResource
	// Object is what is written; of a delete, what there is.
	Object metav1.Object
}

// Fault is what befalls a write.
type Fault int

// Conflict and InternalError are answers to a write that does not happen. After the others the write has happened: the
// client is not told, or its process is dead, and none of its later writes arrives.
const (
	NoFault Fault = iota
	Conflict
	InternalError
	TimeoutAfterWrite
	CrashAfterWrite
)

// ErrCrash is what each write gets after the process of the client is dead.
var ErrCrash = errors.New("the process is dead")

var errInjected = errors.New("injected")

// before is the answer to a write that does not happen, nil if it happens.
func (f Fault) before(resource schema.GroupResource, name string) error {
	switch f {
	case Conflict:
		return apierrors.NewConflict(resource, name, errInjected)
	case InternalError:
		return apierrors.NewInternalError(errInjected)
	case NoFault, TimeoutAfterWrite, CrashAfterWrite:
	}
	return nil
}

// after is the answer to a write that has happened.
func (f Fault) after() error {
	switch f {
	case TimeoutAfterWrite:
		return apierrors.NewTimeoutError("injected", 0)
	case CrashAfterWrite:
		return ErrCrash
	case NoFault, Conflict, InternalError:
	}
	return nil
}
