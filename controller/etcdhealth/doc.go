// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcdhealth asks the members of an etcd cluster for their health. registry/quorum evaluates the answers.
//
// Each member is asked only through its own endpoint, for its ID, its leader, a linearizable read, the member list
// and its connected peers. The latter are in its metric etcd_network_active_peers, served where it serves clients.
//
// Invariants:
//
//   - An answer is never older than the question. Nothing is cached, and a caller that asks during a check gets the
//     next one. Callers that wait for the same check share it.
//   - A member gets one attempt for each request, within the timeout. Failures are part of the answer. Their texts
//     stay the same as long as the failure does.
//   - Each check reads the client leaf and the bundle from the API server. The key stays in memory during the check
//     and is never written to a file.
//   - Members are dialled with controller/dial, and no redirect is followed. If the server does not prove to be a
//     member, with a leaf that the bundle verifies, only the log says what was met there.
//   - An error of Check says nothing about the members: it means that they could not be asked.
//
// Goroutines: a check runs on its own goroutine, with one more per member, and a few for the requests to each. It
// ends with its timeout, or when its last caller leaves. Check is safe for concurrent use.
package etcdhealth
