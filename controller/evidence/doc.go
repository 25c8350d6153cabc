// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evidence observes relying parties and writes what it has seen into evidence records: what the members with a
// tlsProbe accept and present in a handshake, what the static pods of staticPodRevision run with, by the content of
// the revision that is on their node (registry/mirrorpod), what the pods of workloadRollout have started with, by the hashes
// in their annotations (registry/startgate), what the pods of mounted have of immutable objects (registry/mounted), and what
// the objects of caBundle hold (registry/injection). What an observation proves is for registry/trust to say. The kinds
// acknowledgement, gracePeriod, renewed and none need nobody to look.
//
// Who is looked at is a process. A name is probed at every address that it leads to, and each is an observation of its own;
// what a name does not lead to any more is dropped. A static pod is its UID and the start of its last container; of one
// that is gone nothing is kept. A pod is the containers that run in it (trust.Pod.Process), whatever its address is; while
// none runs there is nobody to look at. Of what ran before nothing is kept, neither for the pod nor against it, but what it
// mounts for good.
//
// Which containers run in a pod is known from a watch, and may be out of date when somebody answers. What is seen is taken
// for those that were known when the look began, and that is safe:
//
//   - A container was restarted before the look: what was seen is true of what runs now, and counts no more when the restart
//     is known.
//   - A container is restarted after the look: what was seen counts no more when the restart is known.
//   - The address belongs to another pod by now: what was seen is taken for containers that have ended, as an address is free
//     only then. It counts for nobody else, and no more when the end of the pod is known.
//
// Until then the model knows no better, so nothing irreversible is done before pods and records were read live, after a look.
//
// What a look proves. One address may be answered by several processes, and a look meets one of them:
//
//	         look 1 {old, new}   look 2 {old}   look 3 {old, new} ...
//	address ──► process A         process B      process A
//
// So what is better than what is recorded (a CA that is newly accepted, another leaf, the end of a failure) is not believed
// at once: 16 more looks follow on connections of their own, and what all of them accept is accepted. Where they differ that
// is a failure, with its name, until they have not done so for a while (12 intervals, and a minute at least): of many
// processes, one that lags is soon missed by a few looks. What is worse counts at once. An address that leads each client to a process of its own choice
// (session affinity) can hide the others from any number of looks: then each process has to be named.
//
// With proof: AcceptableAuthorities it counts which names a server lists. With proof: Handshake it counts what it has
// verified: the probe presents a leaf that each CA in question has signed in memory, with the names of the configured client
// leaf, and carries the handshake through. With TLS 1.2 the end of the handshake is the server's answer. With TLS 1.3 the
// answer follows: a session ticket, data, or an orderly end (close_notify) of TLS is a yes, an alert and a dropped connection
// are a no, silence is nothing. As some servers say yes to anybody and refuse later, or verify nothing at all, a yes is
// believed only of who says no to a client of a CA that nobody knows. CAs of one key and name cannot be told apart by that;
// what is proven is the one that ends first.
//
// When it looks: each member once when the collector begins, in any stage (LookedOnce says when that is over, so that nothing
// is signed on what was recorded before a restore); on demand (Refresh), before an action that cannot be undone; and
//
//   - at static pods: when a pod or the record of a revision changes, when something else is expected of the member, and in
//     flight before half of a lease is over. Each look reads from the API server itself; the watches only say when;
//   - at pods of workloadRollout and mounted: when what they run, what they name or one of the contents changes, in any stage, as what was
//     not seen of a process while it could be seen is never known; and in flight before half of a lease is over. Of a process of
//     which everything was seen before only the pod is read;
//   - at an object with a caBundle: in flight every five seconds, and at once when our own injector has written it;
//   - at who has a probe: while the rotation of the domain is in flight, every interval of the probe (with a jitter of a
//     tenth); in the stage Stable only at a member that has not been seen to follow yet, more and more rarely, and at once when
//     something else is expected of it or its static pod was seen to run something else. A pod is looked at at once, in any stage,
//     when it was restarted or its address has changed, and in flight more and more rarely, up to every 30 seconds, while nobody
//     answers at it.
//
// Handshakes with all members together are bounded by Config.HandshakesPerSecond. They are spread evenly, and who waits for a
// turn does so before the time that the member has to answer begins.
//
// Who is gone: Absences looks for proof that members are gone which the configuration does not name any more. For a pod that is
// the pod itself, for an object with a caBundle that object, for any other member its node, and none speaks for another.
//
// Invariants:
//
//   - A record is written only when what it says changes, when the member was restarted after it, or when half of a lease is
//     over: in flight, at the first look, on demand, and in the stage Stable only of who does not follow.
//   - A look is compared with what the record says, not with what a cache has of it.
//   - A failure to observe keeps of what was seen before only what counts against the process: the leaves that it may still
//     present. Its text has no ephemeral part, such as a local port, so that a member which stays away is written once.
//   - The connections of a look are bounded in time by the timeout of the probe, apart from waiting for their turn, and each
//     in size by the limits of crypto/tls on handshake messages. No session is resumed, and nothing is asked for: to the
//     server it is a well-behaved client that had nothing to say.
//   - The key of the client leaf, and that of a signer, is read for each look and kept nowhere. The copies of a revision, and the
//     leaves that pods have started with or mount, are read as a whole, keys included, because a hash is over everything;
//     nothing of it is kept.
//   - What a member presents and accepts is taken only out of a handshake in which it proved that it has the key of
//     the leaf that it presents, and only if that leaf is one of the trust domain. Of a server that is none nothing is
//     recorded, and no failure tells it from a port that is closed: that is in the log (see connection).
//   - Addresses are dialled by controller/dial, which refuses those that no tenant may have dialled.
//   - Of an object of the cluster that does not ask for the bundle by its annotation nothing is recorded, not even that it exists:
//     who writes a configuration may have no right to read it.
//   - What cannot be asked is no proof of absence.
//
// Goroutines: Run starts twice as many workers as Config.Concurrency, each of which looks at up to 8 processes of a member at a
// time, 4 connections each, and two watches for each namespace with static pods; it waits for all of them. Refresh looks on
// goroutines of its own and waits for those. NamespaceChanged may be called from anywhere at any time and does not block.
package evidence
