// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pki holds certificates as values: it parses, issues, verifies, pairs
// and fingerprints them, and knows nothing of Kubernetes.
//
// Everything here is a pure function of its arguments. There is no I/O and no
// clock: whoever needs "now" passes it in. Randomness is crypto/rand alone.
//
// Invariants:
//
//   - A [Certificate] never changes after it was parsed and is shared by pointer.
//     Equal content means equal [Fingerprint]; nothing else identifies it.
//   - Who signed what is decided by the signature ([Certificate.SignedBy]),
//     never by dates, names or annotations.
//   - What a Go TLS stack would silently skip in a PEM (a cut block, a block of
//     another type, a block with headers) is an error here: a certificate that
//     one reader sees and another does not would make a trust decision wrong.
//   - A leaf that [Pair.Issue] makes is never valid outside the validity of its
//     signer.
//   - No error, log value or format verb yields bytes of a private key or of the
//     PEM that was refused.
//   - Parsers are bounded: in bytes, certificates, names ([MaxPEMBytes], [MaxCertificates]
//     and what stands beside them), and in the size of the keys that they do arithmetic with.
//   - A [Cache] holds no key, and nothing by which a guess of one could be confirmed.
//
// The package starts no goroutine. [Certificate] and [Cache] are safe for
// concurrent use; a [Pair] is too as long as nobody assigns its fields.
package pki
