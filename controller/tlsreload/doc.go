// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tlsreload provides *tls.Config values that reload their certificate and trust anchors, for servers and
// clients. It acknowledges to certrotation what the process has loaded. Other programs may import it: it depends only
// on client-go and on packages of this project that need no more.
//
// Example shows the ten lines of a server's main.
//
// Invariants:
//
//   - Certificate, key and anchors of a handshake come from one load. A mismatched certificate and key, a partly
//     unreadable bundle, or a bundle without an anchor is rejected. The former material stays, and Problem
//     returns the reason.
//   - A Source acknowledges what the next handshake uses, never what is merely mounted.
//   - Each handshake verifies with the anchors loaded at that time. No session is resumed, because it could
//     outlive the removal of its anchor.
//   - An existing connection keeps the material that it began with.
//   - A client verifies the server's name. crypto/tls does not report an IP address as name: set it as ServerName
//     of the config, or the handshake fails.
//   - No log or error contains any part of a key.
//
// Goroutines: Follow and Acknowledge run on their callers' goroutines until their contexts end. A Source is safe for
// concurrent use.
package tlsreload
