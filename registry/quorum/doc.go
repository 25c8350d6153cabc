// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quorum decides whether a member of an etcd cluster may be restarted now, and whether one that was restarted
// takes part again. Observe makes an Observation of what the members answered, Assess and Rejoined judge it.
//
// What counts as healthy is a linearizable read through the member itself: it proves that the member reaches the leader
// and that the leader reaches a quorum. A read that the member answers out of its own data proves neither (the readiness
// of an etcd pod is of that kind). In addition every member says with which peers it is connected, because two followers
// that have lost each other notice only when the leader between them goes.
//
// Decisions, with n voters and a quorum of n/2+1:
//
//   - HighAvailability (n >= 3): without the member to restart, the healthy voters still are a quorum, and connected with
//     each other. A healthy member is restarted only while no other voter is broken, so that of five members four stay,
//     one more than is needed. A broken member may be restarted whenever the others are a quorum: that is its repair.
//   - TwoNode (n = 2): one at a time and only while both are healthy; nothing can be written meanwhile. A broken member
//     may be repaired while the other one answers; whether it could serve a linearizable read cannot be known then,
//     because a quorum of two is two.
//   - SingleNode (n = 1): always. Nothing can be read or written meanwhile.
//   - Automatic: the one of these that fits the number of voters. Learners have no vote and do not count.
//   - A node without a vote (a learner, or one that has not joined yet) may be restarted while the voters have a quorum.
//   - A configured strategy that does not fit the number of voters is refused rather than guessed at.
//
// Invariants:
//
//   - What was not observed is not safe, except for the configured strategy SingleNode.
//   - The number of voters comes from the cluster's own list of members, never from the number of nodes.
//   - Where the processes on the nodes belong to different clusters, or do not agree on who their members are, nothing is
//     safe.
//
// Everything is a pure function. An observation is of one moment: take a new one for each decision.
package quorum
