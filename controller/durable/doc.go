// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package durable writes to the disk of a node so that it survives a loss of power, and reads it back, without being led
// elsewhere. Installer, pruner and recovery write with it and exclude each other by its lock.
//
// Invariants:
//
//   - What has its final name is complete and on the disk (fsync of files and of directories) before a rename gives it that
//     name. What is being written or removed has a name that nodedisk.IsLeftover knows.
//   - Below the directory of a Disk no symbolic link is followed, neither when something is made nor when it is read: a path is
//     walked one component at a time. What is made is new (O_EXCL). So whoever can write there, as the containers of the
//     static pod can below their mounts, does not choose where root reads or writes.
//   - Files have mode 0600 and directories 0700, whatever the umask.
//
// A Disk is safe for concurrent use, a Writer is not. The package starts no goroutine.
package durable
