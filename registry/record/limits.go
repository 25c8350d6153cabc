// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package record

// Bounds of a record: those of the RotationRecord's schema, in characters for texts.
const (
	maxName        = 253
	maxUser        = 512
	maxUID         = 128
	maxText        = 1024
	maxLongText    = 4096
	maxObject      = 300
	maxAddress     = 300
	maxVerb        = 32
	maxRoster      = 5000
	maxSigners     = 64
	maxProcesses   = 256
	maxFingerprint = 64
	// maxSkewSeconds is more than 150 years, and less than a time.Duration can hold.
	maxSkewSeconds = 5_000_000_000
	// MaxFingerprints bounds each list of what a process has loaded or presents.
	MaxFingerprints = 256
)
