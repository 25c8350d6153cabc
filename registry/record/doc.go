// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record is the codec of RotationRecords: what certrotation remembers of a trust domain (requests, the roster,
// waivers, the evidence of each member, refused writes) as objects of the API on one side, as values of the model on the
// other. There is one object for each thing, so that thousands of members do not contend for one, and it is written only
// when it says something new.
//
// Invariants:
//
//   - two things never share a record: the names are injective, and a record is read only under the name of its thing;
//   - a record that is made here is read back as the same values, with times cut to what the API keeps of them;
//   - Decode is strict and bounded. What it does not understand entirely is an error, because half a record could prove
//     what was never seen. Whoever writes a record is refused by the same bounds: nothing that counts against a member is
//     ever cut off.
//
// Everything is a pure function; the package starts no goroutine and holds no state.
package record
