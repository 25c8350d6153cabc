// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// Errors of this package wrap one of these.
var (
	// ErrMalformed reports a record that cannot be understood entirely.
	ErrMalformed = errors.New("malformed record")
	// ErrUnrecordable reports values that no record can hold.
	ErrUnrecordable = errors.New("cannot be recorded")
)

// Record is what one RotationRecord says, as values of the model. Of the values exactly the one that Kind names is set.
type Record struct {
	Domain string
	Kind   configv1alpha1.RecordKind

	Request *trust.Request
	// RequestedBy is the user who made the Request.
	RequestedBy string
	Roster      *trust.Roster
	Waiver      *trust.Waiver
	Evidence    *Evidence
	Refusal     *trust.RefusedWrite
	// ClockSkew is how far the clock of the controller is ahead; negative if it is behind.
	ClockSkew time.Duration
}

// Evidence is what is known of the processes of one member.
type Evidence struct {
	Party, Member string
	// Observations ordered by Instance.
	Observations []trust.Observation
}
