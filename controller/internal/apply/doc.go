// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply writes one object of the API: it reads what is there, has it changed, compares, and creates or updates it. It
// knows what an object is only by its type parameter, and serves every typed client.
//
// Invariants:
//
//   - A call makes at most one write, and none if nothing would change.
//   - An update carries the resource version that was read, and a deletion what its caller says, so that whatever somebody
//     else wrote in between stays. That is no error of ours: it is ErrStale or a conflict, and Benign says so.
//   - Nothing that is written gets lost: the API server refuses an object of which it would drop a field.
//   - Each write request is counted once, by its result.
//
// The package starts no goroutine.
package apply
