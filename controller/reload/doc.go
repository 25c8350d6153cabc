// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reload is for programs that load certificates from mounted files: it reads the files, offers them to
// crypto/tls, and acknowledges to certrotation what the process has loaded. Other modules may import it.
//
// # TLS configurations
//
// Source provides *tls.Config values that reload their certificate and trust anchors, for servers and
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
//
// # Mounted files
//
// Read reads files that kubelet mounts into a container. A Follower detects when kubelet swaps them.
//
// kubelet writes each new content into its own directory and renames the link ..data to it. The visible names are
// links through ..data. So files that are opened one by one may be of different contents. This package resolves the
// link once for each directory, and reads the files there.
//
// It polls: a check takes a few system calls, and kubelet takes up to a minute to deliver a change. inotify instances
// are limited per user and node, across all containers.
//
// Invariants:
//
//   - Files of one directory are of the same content. Files of two volumes may be of different times; callers that
//     need a match must compare them.
//   - A file is at most slightly larger than what fits into one Kubernetes object.
//   - A file that exists but cannot be read is an error, never an empty file.
//
// It starts no goroutine. A Follower is not safe for concurrent use.
//
// # Acknowledgements
//
// Reporter reports what one process has loaded, to the subresource acknowledge of a signer, and renews the
// report.
//
// A report states what a look at the process shows at that moment, even if it is outdated: the processes that lag
// matter most.
//
// Invariants:
//
//   - Every report follows a look. The time of a report is when its look began.
//   - Without a change, a report is sent only after half of the lease of the last accepted one, and once soon after
//     the process started.
//   - A look or a report that fails is retried with growing, jittered pauses, or at once on Wake. The last failure is
//     a Problem that states what to do.
//   - Of client-go and this project, the package links only clients and pure packages, so that any program can link
//     it.
//
// Goroutines: Run works in the goroutine of its caller until its context ends. All other functions are safe from any
// goroutine.
package reload
