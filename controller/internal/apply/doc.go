// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply writes one API object: it reads the live object, lets the caller change a copy, compares, and creates
// or updates it. It is generic and serves every typed client.
//
// Invariants:
//
//   - A call makes at most one write, and none if nothing would change. Only Replace may delete before it creates.
//   - An update carries the resource version that was read, and a deletion its caller's preconditions, so other
//     writers' changes are not overwritten. Such a loss of a race is ErrStale or a conflict, for which Benign is
//     true.
//   - No field is lost silently: the API server refuses an object with a field that it would drop.
//   - Each write request is counted once, by its result.
//
// The package starts no goroutine.
package apply
