// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

// Faults of a certificate or key, in one word for programs: problems of objects, conditions and disk defects share
// them.
const (
	ReasonUnparsable  = "Unparsable"
	ReasonKeyMismatch = "KeyMismatch"
	ReasonExpired     = "Expired"
	ReasonNotYetValid = "NotYetValid"
)
