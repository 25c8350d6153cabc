// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package worker is the loop of a controller: workers that take keys from a fair queue and work on them.
//
// Invariants:
//
//   - One worker at a time works on a key, for at most fairqueue.Deadline.
//   - A panic becomes an error of its key, so that a bug which one object triggers does not stop the others.
//   - A failed key is retried with growing delays. Errors for which apply.Benign is true are not logged as faults.
//   - When ctx ends, running work is finished, but nothing else is started or retried: the next leader continues.
//
// Goroutines: Run starts the workers and returns when they have ended.
package worker
