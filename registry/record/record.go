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
	// ErrMalformed reports a record that is not understood entirely.
	ErrMalformed = errors.New("malformed record")
	// ErrUnrecordable reports values that no record can hold.
	ErrUnrecordable = errors.New("cannot be recorded")
)

// Record is a RotationRecord as values of the model. Exactly the value that Kind names is set.
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
	// ClockSkew is how far the controller's clock is ahead, negative if it is behind. LookedAt is when it was last
	// checked, zero if that is not recorded.
	ClockSkew time.Duration
	LookedAt  time.Time
}

// Evidence holds the observed processes of one member.
type Evidence struct {
	Party, Member string
	// Observations ordered by Instance.
	Observations []trust.Observation
}

// Bounds of a record, from the schema of RotationRecord. Texts count in characters.
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
	// maxPods allows all running pods, and as many replaced ones that are not proven gone yet.
	maxPods = 10000
	// maxPopulated bounds a relying party's name with a hash.
	maxPopulated   = maxName + 9
	maxProcesses   = 256
	maxFingerprint = 64
	// maxSkewSeconds is more than 150 years, and fits a time.Duration.
	maxSkewSeconds = 5_000_000_000
	// MaxCertificates bounds the PEM of a CA and its issuers.
	MaxCertificates = 256 << 10
	// MaxFingerprints bounds each list of fingerprints that a process has loaded or presents.
	MaxFingerprints = 256
)

// Same reports whether b says nothing new of a process compared with a. It ignores order, the time of the observation
// and its expiry. The start of the process counts, because it tells older processes apart.
func Same(a, b *trust.Observation) bool {
	x, y := process(a), process(b)
	return x.Instance == y.Instance && x.Kind == y.Kind && x.Address == y.Address &&
		slices.Equal(x.Trusts, y.Trusts) && slices.Equal(x.TrustedSubjects, y.TrustedSubjects) &&
		slices.Equal(x.Presents, y.Presents) && x.RecoveredUntil.Equal(y.RecoveredUntil) &&
		x.StartedAt.Equal(y.StartedAt) && x.Failure == y.Failure && x.ReportedBy == y.ReportedBy &&
		x.ReportedByUID == y.ReportedByUID
}

// SameRefusal reports whether both are the same write with the same answer, regardless of when it was first refused.
func SameRefusal(a, b *trust.RefusedWrite) bool {
	return a.Object == b.Object && a.Verb == b.Verb && text(a.Answer, maxLongText) == text(b.Answer, maxLongText)
}
