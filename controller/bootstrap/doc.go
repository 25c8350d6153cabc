// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bootstrap makes everything that the first nodes need before there is an API server: it runs the controllers of a
// running cluster against an API in memory ([API]) until nothing is left to do, and says what has become of the input.
//
// The input ([Parse]) are the objects that somebody would apply to a cluster: namespaces, the RotationConfiguration, the
// ConfigMap of the pod template, nodes, and CAs that are to be brought along. There is no other configuration.
//
// Invariants:
//
//   - Nothing is issued, published or revisioned by code of this package: it calls controller/rotation and
//     registry/revision, so that a controller which later finds the result in a real API has nothing to change.
//   - The result is complete or there is none: [Settle] fails unless every trust domain is stable, every leaf is usable and
//     every aggregate holds all of its sources.
//   - Objects of the result carry nothing that only a server may set: no UID, no resource version, no owner references.
//   - The result remembers nothing: who counts is written down by the controller that sees the nodes, with their UIDs.
//   - The API in memory is one for these controllers alone: it answers get, list, create and update, refuses everything else,
//     gives resource versions and refuses writes on old ones. It has no cache: what was written is seen by the next read, so
//     there is nothing to wait for and no race.
//
// Goroutines: none but those of the queue of the controller, which end before Settle returns. An API must not be used from
// more than one goroutine at a time.
package bootstrap
