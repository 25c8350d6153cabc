// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generation installs revisions of a static pod on the disk of its node, and prunes them. What is where,
// registry/nodedisk says.
//
// A revision that changes nothing which the process reads at its start only (equal restart hash) becomes a generation
// beside the running one, and the pointer is swapped: nobody restarts. Any other revision gets a directory of its own,
// and then the manifest is replaced; nothing that the running process reads is touched. So a manifest that is put back
// mounts its own directory with its own certificates.
//
// Invariants:
//
//   - The manifest and the pointer beside it name one complete generation, at every moment and after a loss of power at
//     every moment (controller/durable).
//   - A generation never changes under its name. A damaged one is exchanged as a whole.
//   - What an interrupted run has left, the next one removes.
//   - Nothing is installed whose pairs do not match, or whose leaves none of its own anchors has signed. No valid leaf is
//     replaced by an expired one.
//   - Prune never removes what a manifest or a pointer names, and nothing at all while there is no manifest.
//
// Writers of one node exclude each other by a lock. Readers need none; one that finds a defect while a writer is at work may
// have looked at the old half of it, and looks again. The package starts no goroutine.
package generation
