// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides how revisions of certificates reach the static pods of nodes: when to create a revision,
// which node is next, what to wait for, what to prune, and what to show. Assess decides about a State. The controller
// in controller/rollout/staticpod reads the State, writes the Status and executes the actions.
//
// The mirror pod shows what a node runs: its restart hash identifies the manifest and the trust that the process has
// loaded. Records on the revisions, by UID of the node, show what is on its disk. A revision with the running restart
// hash restarts no pod.
//
// The unit is the node. If a revision brings several static pods, they restart together and count as one. The node
// runs a revision when each of them does, and is well when each of them is.
//
// Invariants:
//
//   - One node at a time. A restarted node is done when its pod is Ready with the revision's restart hash and its
//     member takes part in the quorum again. Only then is that recorded, and only then may another node restart.
//   - No member restarts while another pod or node is not well. The exception is a broken member while the others
//     have a quorum: that is its repair. Where no member runs yet, none is asked.
//   - A revision that restarts no pod waits for no node. A node that is down gets it when it is back.
//   - The Status records a start on a node before it happens. The most broken node comes first.
//   - Neither a failure nor a timeout undoes anything. A condition, an event, and a blocker with its start time show
//     it. A newer revision replaces one that did not work.
//   - A revision is cut only from sources that agree with each other, and never from an empty bundle. One that
//     restarts members is cut only while the quorum permits the restart of one of them.
//
// Everything is a pure function. State.Now is the only clock, and the same State gives the same Assessment.
package rollout
