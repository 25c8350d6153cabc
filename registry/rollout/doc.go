// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides how revisions of certificates are brought to the static pods of nodes: when a revision is
// created, which node is next, what has to be waited for, what may be pruned, and what is shown of it. Assess decides
// about a State; the controller in controller/rollout/staticpod reads the State, writes the Status and executes the
// actions.
//
// What a node runs follows from its mirror pod, whose restart hash identifies the manifest and the trust that the
// process has loaded, and from the records on the revisions, which say by the UID of the node what is on its disk. A
// revision with the restart hash that is already running restarts nobody.
//
// The unit is the node. Where a revision brings several static pods to it, they restart together and are judged as one: the
// node runs a revision when each of them does, and is well when each of them is.
//
// Invariants:
//
//   - One node at a time. A node that restarts is done when its pod is Ready with the restart hash of the revision and
//     its member takes part in the quorum again; only then is that recorded, and only then another one is disturbed.
//   - No member is restarted while another pod or node is not well, unless it is broken itself and the others have a
//     quorum: that is its repair. Nobody is asked where no member runs yet.
//   - A revision that restarts nobody waits for nobody: a node that is down gets it when it is back.
//   - What is started on a node is in the Status before it is started. Of several nodes the most broken one comes first.
//   - Nothing is undone, neither by a failure nor by a timeout: it is shown, as a condition, an event, and a blocker with
//     the time since which it holds. A newer revision replaces one that did not work.
//   - A revision is cut only from sources that agree with each other, and never from an empty bundle. One that restarts
//     members is cut only while the quorum permits the restart of one of them.
//
// Everything is a pure function: there is no clock but State.Now, and the same State gives the same Assessment.
package rollout
