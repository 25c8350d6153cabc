// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package durable writes to the disk of a node so that the data survives a loss of power, and reads it back, without
// following links. Installer, pruner and recovery write with it and exclude each other with its lock.
//
// Invariants:
//
//   - Data is complete and on disk (fsync of files and directories) before a rename gives it its final name.
//     Unfinished writes and removals have names that nodepod.IsLeftover recognizes.
//   - Below the directory of a Disk, neither reads nor writes follow a symbolic link. Paths are walked one component
//     at a time, and files are created with O_EXCL. So a process that can write there, such as a container of the
//     static pod, cannot choose where root reads or writes.
//   - Files have mode 0600 and directories 0700 under every umask.
//
// A Disk is safe for concurrent use, a Writer is not. The package starts no goroutine.
package durable
