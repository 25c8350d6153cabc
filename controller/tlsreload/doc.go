// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tlsreload gives servers and clients *tls.Config values that reload their certificate and their trust anchors, and
// acknowledges to certrotation what the process has really loaded. It is for programs of others too: behind it are client-go and
// packages of this project that need no more.
//
// Example has the ten lines of a server's main.
//
// Invariants:
//
//   - Certificate, key and anchors of a handshake are of one loading. A certificate and a key that do not match, a bundle that
//     cannot be read in whole and a bundle without an anchor are not taken: the former stay, and Problem says why.
//   - What is acknowledged is what the next handshake uses, and never what is merely mounted.
//   - Each handshake verifies by the anchors that are loaded then. No session is resumed: one that began before an anchor was
//     removed would outlive it.
//   - A connection that exists goes on with what it began with.
//   - A client verifies the server's name. One that crypto/tls does not tell (an IP address) has to be in the ServerName of the
//     config, or the handshake fails.
//   - No part of a key is in a log or an error.
//
// Goroutines: Follow and Acknowledge work on those of their callers until their contexts end. A Source may be used from
// anywhere.
package tlsreload
