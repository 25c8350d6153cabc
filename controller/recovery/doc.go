// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery brings back a static pod whose certificates do not work. It uses a generation on disk that a
// quorum accepts, or reissues one, for which it reads etcd's own data while etcd is stopped. It contacts no API
// server, and other nodes only by handshakes.
//
// registry/nodepod reads the disk, registry/nodepod decides what is right and what to do, and controller/durable
// writes. This package plans and executes.
//
// Invariants:
//
//   - Nothing is destroyed: what a recovery replaces is first moved to NAME-pod-set-aside-TIME.
//   - The manifest and the pointer are replaced by rename, after everything that they refer to is on disk. A power
//     loss leaves the old or the new state, and a second run completes it.
//   - A reissued directory is put in place as a whole, and only while etcd is stopped.
//   - etcd's data is opened read-only, under the lock that keeps etcd from opening it meanwhile.
//   - No error, finding or plan contains a private key.
//
// Everything runs on the caller's goroutine, except the probes of Probe, which end before it returns.
package recovery
