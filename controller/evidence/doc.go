// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evidence observes relying parties and writes what it has seen into evidence records: what the members with a
// tlsProbe accept and present in a handshake, and what the static pods of staticPodRevision run with, by the content of
// the revision that is on their node (registry/staticpod). What an observation proves is for registry/trust to say.
// The kinds acknowledgement, gracePeriod and renewed need nobody to look.
//
// When it looks at static pods: when a pod or the record of a revision changes, when something else is expected of the
// member, and on demand (Refresh). Each look reads from the API server itself; the watches only say when.
//
// When it probes: while the rotation of the domain is in flight, every interval of the probe (with a jitter of a tenth);
// on demand (Refresh), before an action that cannot be undone; and in the stage Stable, only a member that has not been
// seen to follow yet, more and more rarely, and at once when something else is expected of it or its static pod was seen
// to run something else.
//
// Invariants:
//
//   - A record is written only when what it says changes (evidence.Same), or when the member was restarted after it.
//   - A failure to observe keeps what was seen before, next to the text of the failure. That text has no ephemeral
//     part, such as a local port, so that a member which stays away is written once.
//   - A probe is bounded in time by its timeout and in size by the limits of crypto/tls on handshake messages. It
//     completes the handshake, with the configured client leaf, and closes it in order: to the server it is a
//     well-behaved client that had nothing to say.
//   - The key of the client leaf is read for each probe and kept nowhere. The copies of a revision are read as a whole,
//     keys included, because its hash is over everything; only certificates are parsed, and nothing is kept.
//   - What a member presents and accepts is taken only out of a handshake in which it proved that it has the key of
//     the leaf that it presents.
//
// Goroutines: Run starts as many workers as Config.Concurrency, and two watches for each namespace with static pods; it
// waits for all of them. Refresh looks on goroutines of its own and waits for those. NamespaceChanged may be called from anywhere at any time and does not block.
package evidence
