// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

// Verifiers are TLS libraries that decide whether a certificate is accepted, as a set. The zero value means all.
type Verifiers uint8

// The verifiers whose differences the relations know.
const (
	Go Verifiers = 1 << iota
	OpenSSL
	BoringSSL
	GnuTLS
	NSS
	Java
)

// Includes reports whether the set has each of these.
func (v Verifiers) Includes(of Verifiers) bool { return v == 0 || of != 0 && of&^v == 0 }

// any reports whether one of these is in the set.
func (v Verifiers) any(of Verifiers) bool { return v == 0 || v&of != 0 }
