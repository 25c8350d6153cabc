// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acknowledge reports what one process has loaded, to the subresource acknowledge of a signer, and renews the
// report.
//
// A report states what a look at the process shows at that moment, even if it is outdated: the processes that lag
// matter most.
//
// Invariants:
//
//   - Every report follows a look. The time of a report is when its look began.
//   - Without a change, a report is sent only after half of the lease of the last accepted one, and once soon after
//     the process started.
//   - A look or a report that fails is retried with growing, jittered pauses, or at once on Wake. The last failure is
//     a Problem that states what to do.
//   - Of client-go and this project, the package links only clients and pure packages, so that any program can link
//     it.
//
// Goroutines: Run works in the goroutine of its caller until its context ends. All other functions are safe from any
// goroutine.
package acknowledge
