// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mountedfiles reads files that kubelet mounts into a container, and detects when kubelet swaps them.
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
package mountedfiles
