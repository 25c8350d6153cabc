// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package acknowledge reports to the subresource acknowledge of a signer what one process has loaded, and keeps the report
// alive.
//
// What is reported is what a look at the process shows in that moment, whether it is what one wishes or not: a process that
// lags is the one that matters.
//
// Invariants:
//
//   - Nothing is reported without a look. The time of a report is the one at which its look began.
//   - A report that says what the last accepted one says is sent only when half of that one's lease is over, and once soon after
//     the start of the process.
//   - A look or a report that fails is tried again, later and later and not all at once, or as soon as somebody wakes the
//     Reporter. The last failure is a Problem that says what to do.
//   - Of client-go and this project, only clients and pure packages are behind it, so that any program can link it.
//
// Goroutines: Run works on that of its caller until its context ends. All other functions may be called from anywhere.
package acknowledge
