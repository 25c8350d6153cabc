// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package worker is the loop of a controller: workers that take one key after the other from a fair queue and work on it.
//
// Invariants:
//
//   - A key is worked on by one worker at a time, for fairqueue.Deadline at most.
//   - A panic is an error of its key: it is a fault of ours that one object brought to light, and no reason to stop all others.
//   - An error has its key worked on again, later each time. One that only says that somebody else was faster is not logged as
//     a fault (apply.Benign).
//   - When ctx ends, what is worked on is finished, and nothing else is begun or retried: whoever leads next goes on.
//
// Goroutines: Run starts the workers, and returns when they have ended.
package worker
