// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package record is the codec between RotationRecords and the model. A record holds what certrotation remembers of a
// trust domain: a request, the roster, a waiver, the evidence of one member, or a refused write. Each thing has its
// own object, so that thousands of members do not contend for one. A record is written only when its content changes.
//
// Invariants:
//
//   - Two things never share a record: names are injective, and a record is read only under the name of its thing.
//   - Decode returns the encoded values, with times cut to the precision of the API.
//   - Decode is strict and bounded. It refuses a record that it does not understand entirely, because half a record
//     could prove something never observed. Writers are refused by the same bounds: evidence against a member is
//     never cut off.
//
// Everything is a pure function; the package starts no goroutine and holds no state.
package record
