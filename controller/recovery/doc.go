// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery reads the disk of a node, its peers and, while no etcd runs, etcd's own data, and brings a static pod
// back whose certificates do not work: to a generation that a quorum accepts, or to one that it makes. It talks to no API
// server and to no other node than by a handshake.
//
// What is right and what to do is decided by registry/diagnosis; this package only looks and executes.
//
// Invariants:
//
//   - nothing is destroyed: what a recovery replaces it moves to NAME-pod-set-aside-TIME first;
//   - the manifest and the pointer are replaced by rename, after everything that they lead to is on the disk, so that a
//     power loss leaves either the old or the new state, and running again completes it;
//   - what is made anew is a whole directory, which is put in its place at once, and only while no etcd runs;
//   - below the directories of the operator no link is followed, neither when something is made nor when it is read, and what
//     is made is new (O_EXCL): whoever can write there, as the static pod can, does not choose where root writes;
//   - etcd's data is opened read-only, under the lock that keeps etcd from opening it meanwhile;
//   - no private key appears in an error, a finding or a plan.
//
// Everything runs on the goroutine of the caller but the probes of Probe, which have ended when it returns.
package recovery
