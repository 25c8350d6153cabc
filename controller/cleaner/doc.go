// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cleaner deletes what departed nodes leave behind: the Secrets of their leaves and the records of the
// evidence of their members. registry/orphan decides what to delete and when, from the names that the configuration
// derives from node names; this package only executes.
//
// Invariants:
//
//   - Before a deletion everything is read live, including the nodes, and the clock is compared with other clocks.
//     All of that must lead to the same decision. The deletion carries the UID and the resource version of that
//     decision, so that a later write survives.
//   - A mark is one update of the live object, with the resource version of the decision.
//   - Nothing is polled: the controller waits for a change of the namespace or of a node, or for the end of a grace
//     period.
//
// Goroutines: Run starts the workers and returns when they have ended. NamespaceChanged is safe from any goroutine at
// any time.
package cleaner
