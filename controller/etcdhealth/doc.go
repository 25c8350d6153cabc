// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcdhealth asks the members of an etcd cluster for their health. The answers are evaluated in
// registry/quorum.
//
// Each member is asked through its own endpoint and no other: who it is and whom it sees as leader, for a linearizable
// read, for the list of members, and with which peers it is connected (its metric etcd_network_active_peers, which it
// serves where it serves clients).
//
// Invariants:
//
//   - An answer is never older than the question: nothing is cached, and who asks while a check runs gets the next one.
//     Questions that wait for the same check share it.
//   - A member gets one attempt for each request, within the timeout. What fails is part of the answer, in words that
//     are the same as long as the failure is.
//   - The client leaf and the bundle are read from the API server for each check. The key is in memory as long as the
//     check lasts, and in no file.
//   - Members are dialled by controller/dial, and no redirect is followed. Of an address at which nobody proves to be a member,
//     by a leaf that the bundle verifies, an answer does not tell what was met there: that is in the log.
//   - An error of Check says nothing about the members: it means that they could not be asked.
//
// Goroutines: a check runs on a goroutine of its own, with one more for each member; it ends with its timeout, or when
// nobody waits for it any more. Check may be called from anywhere at any time.
package etcdhealth
