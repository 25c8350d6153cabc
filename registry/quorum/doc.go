// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quorum decides whether an etcd member may be restarted now, and whether a restarted one takes part again.
// Observe builds an Observation from the answers of the members; Assess and Rejoined judge it.
//
// A member is healthy if a linearizable read through it succeeds: it reaches the leader, and the leader reaches a
// quorum. A read from its own data, as in the readiness of an etcd pod, proves neither. Each member also reports its
// connected peers: two followers that lost each other notice it only when the leader between them goes.
//
// Decisions, with n voters and a quorum of n/2+1:
//
//   - HighAvailability (n >= 3): without the member to restart, the healthy voters must still be a quorum and
//     connected with each other. A healthy member restarts only while no other voter is broken: of five members four
//     stay, one more than needed. A broken member may restart whenever the others are a quorum, because that is its
//     repair.
//   - TwoNode (n = 2): one at a time, and only while both are healthy. Writes stop meanwhile. A broken member may be
//     repaired while the other one answers. A linearizable read cannot be required then: a quorum of two is two.
//   - SingleNode (n = 1): always. Reads and writes stop meanwhile.
//   - Automatic: the one of these that fits the number of voters. Learners have no vote and do not count.
//   - A node without a vote (a learner, or one that has not joined) may restart while the voters have a quorum.
//   - A configured strategy that does not fit the number of voters is refused.
//
// Invariants:
//
//   - Without an observation nothing is safe, except under the configured strategy SingleNode.
//   - The number of voters comes from the cluster's own member list, never from the number of nodes.
//   - If processes belong to different clusters, or their member lists differ, nothing is safe.
//
// Everything is a pure function. An observation is of one moment: take a new one for each decision.
package quorum
