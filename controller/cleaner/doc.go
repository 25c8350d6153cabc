// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cleaner deletes what nodes leave behind when they leave: the Secrets of their leaves and the records of the
// evidence of their members. What and when is decided by registry/orphan, from the names that the configuration makes of the
// names of nodes; this package only executes.
//
// Invariants:
//
//   - Before a deletion everything is read live, the nodes too, the clock is compared with those of others, and all of that
//     has to lead to the same decision. The deletion carries the UID and the resource version that it was about, so that
//     whatever was written meanwhile stays.
//   - A mark is one update of the live object, with the resource version that the decision was made on.
//   - Nothing is polled: a change of the namespace or of a node, and the end of a grace period, are what is waited for.
//
// Goroutines: Run starts the workers and ends when they have ended. NamespaceChanged may be called from anywhere at any time.
package cleaner
