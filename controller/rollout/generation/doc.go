// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package generation is the disk of a node that runs a static pod with certificates: it installs revisions, reads and
// verifies what is there, and prunes. NAME is the rollout's name, R and M are revisions, M >= R:
//
//	MANIFESTS/NAME-pod.yaml                  what kubelet runs
//	RESOURCES/NAME-pod.lock                  held by whoever writes below
//	RESOURCES/NAME-pod-R/NAME-pod.yaml       the manifest of R, which mounts this directory
//	RESOURCES/NAME-pod-R/generation-M/       trust and leaves of M together, and generation.json, which lists them
//	RESOURCES/NAME-pod-R/current             a symbolic link to generation-M: the pointer
//
// A revision that changes nothing which the process reads at its start only (equal restart hash) becomes a generation
// beside the running one, and the pointer is swapped: nobody restarts. Any other revision gets a directory of its own,
// and then the manifest is replaced; nothing that the running process reads is touched. So a manifest that is put back
// mounts its own directory with its own certificates.
//
// Invariants:
//
//   - The manifest and the pointer beside it name one complete generation, at every moment and after a loss of power at
//     every moment: what they name is on the disk (fsync of files and of directories) before a rename makes them name it.
//   - A generation never changes under its name. A damaged one is exchanged as a whole.
//   - Whatever has a final name is complete; what is being written or removed has a name that begins with a dot, which
//     kubelet and the readers pass over, and the next run removes it.
//   - Nothing is installed whose pairs do not match, or whose leaves none of its own anchors has signed. No valid leaf is
//     replaced by an expired one.
//   - Files have mode 0600 and directories 0700, whatever the umask. No symbolic link is followed, but the pointer.
//   - Prune never removes what a manifest or a pointer names, and nothing at all while there is no manifest.
//
// Writers of one node exclude each other by a lock on NAME-pod.lock. Readers need none; one that finds a fault while a
// writer is at work may have looked at the old half of it, and looks again. The package starts no goroutine.
package generation
