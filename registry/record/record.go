// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"errors"
	"slices"
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
	// ClockSkew is how far the clock of the controller is ahead; negative if it is behind. LookedAt is when it looked last, zero if that
	// is not recorded.
	ClockSkew time.Duration
	LookedAt  time.Time
}

// Evidence is what is known of the processes of one member.
type Evidence struct {
	Party, Member string
	// Observations ordered by Instance.
	Observations []trust.Observation
}

// Bounds of a record: those of the RotationRecord's schema, in characters for texts.
const (
	maxName     = 253
	maxUser     = 512
	maxUID      = 128
	maxText     = 1024
	maxLongText = 4096
	maxObject   = 300
	maxAddress  = 300
	maxVerb     = 32
	maxRoster   = 5000
	maxSigners  = 64
	maxParties  = 128
	// maxPods are those that run, and as many that they have replaced and that are not proven to be gone yet.
	maxPods = 10000
	// maxPopulated is the name of a relying party with a hash.
	maxPopulated   = maxName + 9
	maxProcesses   = 256
	maxFingerprint = 64
	// maxSkewSeconds is more than 150 years, and less than a time.Duration can hold.
	maxSkewSeconds = 5_000_000_000
	// MaxFingerprints bounds each list of what a process has loaded or presents.
	MaxFingerprints = 256
)

// Same says whether b says nothing new of a process compared with a: everything is equal but when it was observed and
// until when that holds, in any order. The start of the process counts as news, because older processes are told by it.
func Same(a, b *trust.Observation) bool {
	x, y := process(a), process(b)
	return x.Instance == y.Instance && x.Kind == y.Kind && x.Address == y.Address &&
		slices.Equal(x.Trusts, y.Trusts) && slices.Equal(x.TrustedSubjects, y.TrustedSubjects) &&
		slices.Equal(x.Presents, y.Presents) && x.RecoveredUntil.Equal(y.RecoveredUntil) &&
		x.StartedAt.Equal(y.StartedAt) && x.Failure == y.Failure && x.ReportedBy == y.ReportedBy &&
		x.ReportedByUID == y.ReportedByUID
}

// SameRefusal says whether the same write is refused with the same answer, since whenever.
func SameRefusal(a, b *trust.RefusedWrite) bool {
	return a.Object == b.Object && a.Verb == b.Verb && text(a.Answer, maxLongText) == text(b.Answer, maxLongText)
}
