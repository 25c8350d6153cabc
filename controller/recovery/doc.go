// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery brings a static pod back whose certificates do not work: to a generation that a quorum accepts, or to one
// that it makes, for which it reads etcd's own data while no etcd runs. It talks to no API server and to no other node than
// by a handshake.
//
// What is on the disk is read by registry/nodedisk, what is right and what to do is decided by registry/diagnosis, and what is
// written is written by controller/durable; this package plans and executes.
//
// Invariants:
//
//   - nothing is destroyed: what a recovery replaces it moves to NAME-pod-set-aside-TIME first;
//   - the manifest and the pointer are replaced by rename, after everything that they lead to is on the disk, so that a
//     power loss leaves either the old or the new state, and running again completes it;
//   - what is made anew is a whole directory, which is put in its place at once, and only while no etcd runs;
//   - etcd's data is opened read-only, under the lock that keeps etcd from opening it meanwhile;
//   - no private key appears in an error, a finding or a plan.
//
// Everything runs on the goroutine of the caller but the probes of Probe, which have ended when it returns.
package recovery
