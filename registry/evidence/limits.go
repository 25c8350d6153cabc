// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

// Bounds of a record. What Encode makes stays within them.
const (
	// maxNameBytes bounds the names of domain, party and member.
	maxNameBytes = 253
	// MaxFingerprints bounds each list of a record.
	MaxFingerprints = 4096
	// MaxFailureBytes bounds the text of a failure; Encode cuts what is longer.
	MaxFailureBytes = 1024
)
