// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mountedfiles reads files that kubelet shows to a container, and notices when it swaps them.
//
// kubelet writes each new content into a directory of its own beside the former, and renames one link (..data) to it; the
// visible names are links through that one. So what is opened name by name may be of two contents. Here the link is resolved
// once for each directory, and the files are read where it led.
//
// It looks instead of being told: a look is a few calls of the kernel, kubelet itself takes up to a minute to bring a change,
// and the number of inotify instances is a limit that all containers of one user on a node share.
//
// Invariants:
//
//   - Files of one directory are of one content. Files of two volumes may be of different times; whoever needs them to belong
//     together compares them.
//   - A file is bounded by what fits into one object of Kubernetes.
//   - A file that is there but cannot be read is an error, and never an empty file.
//
// It starts no goroutine. A Follower belongs to one goroutine.
package mountedfiles
