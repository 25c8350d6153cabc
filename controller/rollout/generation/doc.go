// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generation installs revisions of a static pod on the disk of its node, and prunes them. registry/nodepod
// defines the layout.
//
// A revision with an equal restart hash changes nothing that the process reads only at start. It becomes a generation
// beside the running one, and the pointer is swapped, without a restart. Any other revision gets its own directory,
// and then the manifest is replaced. What the running process reads is not touched. So a restored manifest mounts its
// own directory with its own certificates.
//
// Invariants:
//
//   - The manifest and the pointer beside it name one complete generation at every moment, and after a power loss at
//     any moment (controller/durable).
//   - A generation never changes under its name. A damaged one is exchanged as a whole.
//   - A run removes what an interrupted run has left.
//   - A revision is not installed if its pairs do not match, or if it has a leaf that none of its own anchors signed.
//     No valid leaf is replaced by an expired one.
//   - Prune never removes what a manifest or a pointer names, and removes nothing while a manifest is missing.
//
// Writers on one node exclude each other by a lock. Readers need no lock. A reader that finds a defect during a write
// may have read part of the old state, and must read again. The package starts no goroutine.
package generation
