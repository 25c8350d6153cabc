// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evidence observes relying parties: it handshakes with the members that have a tlsProbe and writes what they
// were seen to accept and to present into evidence records. What an observation proves is for registry/trust to say.
// The kinds acknowledgement, gracePeriod and renewed need nobody to look.
//
// When it looks: while the rotation of the domain is in flight, every interval of the probe (with a jitter of a tenth);
// on demand (Refresh), before an action that cannot be undone; and in the stage Stable, where nothing is probed
// periodically, a few times after a change that a member has not been seen to follow yet.
//
// Invariants:
//
//   - A record is written only when what it says changes (evidence.Same), or when the member was restarted after it.
//   - A failure to observe keeps what was seen before, next to the text of the failure. That text has no ephemeral
//     part, such as a local port, so that a member which stays away is written once.
//   - A probe is bounded in time by its timeout and in size by the limits of crypto/tls on handshake messages. It
//     completes the handshake, with the configured client leaf, and closes it in order: to the server it is a
//     well-behaved client that had nothing to say.
//   - The key of the client leaf is read for each probe and kept nowhere.
//   - What a member presents and accepts is taken only out of a handshake in which it proved that it has the key of
//     the leaf that it presents.
//
// Goroutines: Run starts as many workers as Config.Concurrency and waits for them. Refresh probes on goroutines of its
// own and waits for those. NamespaceChanged may be called from anywhere at any time and does not block.
package evidence
