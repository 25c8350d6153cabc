// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

// What a certificate or a key can be, in one word for programs: the same in problems of objects, in conditions and in defects
// of a disk.
const (
	ReasonUnparsable  = "Unparsable"
	ReasonKeyMismatch = "KeyMismatch"
	ReasonExpired     = "Expired"
	ReasonNotYetValid = "NotYetValid"
)
