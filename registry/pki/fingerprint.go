// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/sha256"
	"encoding/hex"
)

// Fingerprint is the lower-case hexadecimal SHA-256 of a certificate's DER: its identity.
type Fingerprint string

// SubjectHash returns the lower-case hexadecimal SHA-256 of a raw DER subject.
// A TLS server names the authorities that it accepts by exactly these bytes, so
// the hash joins what a handshake shows to a certificate. Empty input yields the
// hash of nothing, not "".
func SubjectHash(rawSubject []byte) string {
	return hexSHA256(rawSubject)
}

func fingerprintOf(der []byte) Fingerprint {
	return Fingerprint(hexSHA256(der))
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
