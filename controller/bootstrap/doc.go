// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap renders what the first nodes need before an API server exists. It runs the controllers of a
// running cluster against an in-memory API ([API]) until nothing is left to do, and returns the result.
//
// The input ([Parse]) is what an operator would apply to a cluster: namespaces, the RotationConfiguration, the
// ConfigMap of the pod template, nodes, and existing CAs. There is no other configuration.
//
// Invariants:
//
//   - This package does not issue, publish or revision anything itself: it calls controller/rotation and
//     registry/nodepod. A controller that later finds the result in a real API has nothing to change.
//   - The result is complete or absent: [Settle] fails unless every trust domain is stable, every leaf is usable and
//     every aggregate holds all of its sources.
//   - Objects of the result have no fields that only a server may set: no UID, no resource version, no owner
//     references.
//   - The result has no records. The controller writes the roster when it observes the nodes, with their UIDs.
//   - The in-memory API serves only these controllers: it answers get, list, create and update, and refuses
//     everything else. It sets resource versions and refuses writes on old ones. It has no cache: the next read sees
//     a write, so there is nothing to wait for and no race.
//
// Goroutines: only those of the controller's queue, which end before Settle returns. An API must not be used by more
// than one goroutine at a time.
package bootstrap
