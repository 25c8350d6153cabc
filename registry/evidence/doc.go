// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evidence is the codec of evidence records: what a member of a relying party was last seen to have loaded, kept
// in a ConfigMap of the trust domain's namespace. There is one record for each member, so that thousands of members do
// not contend for one object, and it is written only when it says something new.
//
// Invariants:
//
//   - two members never share a record: RecordName is injective;
//   - a record that Encode makes is read back by Decode as the same observation;
//   - Decode is strict and bounded. What it does not understand entirely is an error, because half an observation could
//     prove what was never seen.
//
// Everything is a pure function; the package starts no goroutine and holds no state.
package evidence
