// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis finds what is inconsistent on the disk of a node that runs a static pod with certificates. It
// tells which generations on the disk would work, and what to reissue if none does. It is for an outage of the API
// server: `certrotation doctor` prints its findings, and `certrotation recover` executes its plans.
//
// registry/nodedisk reads the disk; a Sighting is the result of one handshake with a peer. All functions are pure: no
// I/O, no clock but an argument, no private key. Values are immutable. The package starts no goroutine.
//
// Rules behind everything else:
//
//   - Certificates count; names, numbers and dates of files do not. A generation works if three things hold: its
//     files are the installed ones, each pair matches and chains to the generation's own trust, and everything is
//     valid now.
//   - In use are the directory that the manifest mounts and the generation that its pointer names. Only these can
//     have errors; a defect of another generation only means that it cannot help.
//   - A quorum accepts a generation if, together with this node, a majority of members accepts its leaf and
//     presents leaves that its trust verifies. An unreachable member has accepted nothing.
//   - A re-signed authority, with the same subject and key, replaces an expired one. So nodes that know nothing
//     of each other make certificates that all of them accept. Nothing else of the trust on a disk changes.
package diagnosis
