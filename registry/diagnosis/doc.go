// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package diagnosis says what does not fit together on the disk of a node that runs a static pod with certificates, which
// of the generations on it would work, and what has to be made anew when none does. It is for the hours without an API
// server: `certrotation doctor` prints its findings and `certrotation recover` does what its plans say.
//
// What is on the disk, registry/nodedisk reads; a Sighting is what one handshake with a peer has shown. All
// functions are pure: no I/O, no clock but the one passed in, no private key. Values are never changed after they were
// made. The package starts no goroutine.
//
// Rules that decide everything else:
//
//   - certificates count, not names, numbers or dates of files: a generation works if its files are the ones that were
//     installed, each pair belongs together and chains to the generation's own trust, and everything is valid now;
//   - what is in use is what the manifest mounts and the pointer beside it points at. Only that can be an error; what
//     is wrong with another generation says no more than that it is of no help;
//   - a generation is accepted by a quorum if, together with this node, a majority of the members accept its leaf and
//     present leaves that its trust verifies. Who cannot be reached has accepted nothing;
//   - an authority that expired is replaced by one with the same subject and key, so that nodes which know nothing of each
//     other make certificates that all of them accept. Nothing else of the trust on a disk is changed.
package diagnosis
