// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki parses, issues, verifies, pairs and fingerprints certificates. It knows nothing of Kubernetes.
//
// Everything is a pure function of its arguments, without I/O and clock: callers pass in "now". Randomness is
// crypto/rand alone.
//
// Invariants:
//
//   - A parsed [Certificate] never changes and is shared by pointer. Equal content means equal [Fingerprint]; nothing
//     else identifies it.
//   - The signature alone decides who signed a certificate ([Certificate.SignedBy]), never dates, names or
//     annotations.
//   - Parts of a PEM that a Go TLS stack silently skips (a cut block, a block of another type, a block with headers)
//     are errors. If one reader saw a certificate that another does not, a trust decision would be wrong.
//   - A leaf from [Pair.Issue] is never valid outside the validity of its signer.
//   - No error, log value or format verb yields bytes of a private key or of a refused PEM.
//   - Parsers are bounded: in bytes, certificates and names ([MaxPEMBytes], [MaxCertificates] and the constants
//     beside them), and in the size of the keys that they compute with.
//   - A [Cache] holds no key and cannot confirm a guess of one.
//
// The package starts no goroutine. [Certificate] and [Cache] are safe for concurrent use. So is a [Pair], as long as
// its fields are not assigned.
package pki
