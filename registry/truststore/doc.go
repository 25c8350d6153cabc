// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package truststore writes trust anchors (trust stores) and pairs (keystores) in the formats of Java: PKCS#12 and JKS.
//
// Invariants:
//
//   - The same anchors, in any order, or the same pair, the same format and the same password give the same bytes in
//     every process of one build. Salts are derived from what is written, so no two contents share one, and the dates
//     of JKS are those of the certificates. In return a trust store is right or wrong by its bytes. No code parses
//     foreign content, which might ask for ten thousand million iterations.
//   - A keystore is right if its Seal is: only a process with the password could compare its bytes.
//   - Another build may give other bytes for the same anchors. Then each trust store is written once more.
//   - A trust store is never empty: Encode refuses to write one without anchors, as Java would fail at each
//     connection.
//   - The alias of an anchor is its common name, for people, and a part of its fingerprint. So two generations of a
//     CA are two entries.
//
// The package starts no goroutine.
package truststore
