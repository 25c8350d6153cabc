// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package evidence observes relying parties and writes evidence records. registry/trust decides what they prove. By
// kind of evidence, it observes:
//
//   - tlsProbe: what members accept and present in a handshake.
//   - staticPodRevision: what static pods run with, by the content of the revision on their node
//     (registry/nodepod).
//   - workloadRollout: what pods started with, by the hashes in their annotations (registry/podcontent).
//   - mounted: what pods have of immutable objects (registry/podcontent).
//   - caBundle: what objects with a caBundle hold (registry/injection).
//
// The kinds acknowledgement, gracePeriod, renewed and none need no observation.
//
// The unit of observation is a process. A name is probed at every address that it resolves to; observations of former
// addresses are dropped. A static pod is its UID and the start of its last container; once it is gone, nothing of it
// is kept. A pod is its running containers (trust.Pod.Process), at any address, and without any it is not observed.
// Nothing is kept of earlier containers, for or against the pod, except what the pod mounts permanently.
//
// A watch tells which containers run, and may lag behind. An observation is attributed to the containers that were
// known when it began, and stops counting once their end is known:
//
//   - If a container restarted before the observation, it is true of the process that runs now.
//   - If another pod has the address by then, it counts for containers that have ended and for no other pod: an
//     address is free only after their end.
//
// Until then the model is out of date. So irreversible steps wait until pods and records were read live, after an
// observation.
//
// Several processes may answer at one address, and a probe meets one of them:
//
//	         probe 1 {old, new}  probe 2 {old}   probe 3 {old, new} ...
//	address ──► process A         process B      process A
//
// A worse result than the record counts at once. A better one (a newly accepted CA, another leaf, the end of a
// failure) needs 16 more probes on new connections. Only what all of them accept counts. If they differ, that is a
// failure with its own text. It lasts until no probe has differed for 12 intervals, at least a minute, because a few
// probes easily miss one lagging process. Session affinity can hide processes from any number of probes: then
// configure the address of each process.
//
// With proof: AcceptableAuthorities, the CA names that a server lists count. With proof: Handshake, the probe
// presents a leaf that each CA in question signs in memory, with the names of the configured client leaf. A CA is
// proven if the server accepts its leaf (see carry and ending) and refuses one of an unknown CA. Of CAs with the same
// key and name, the one that ends first is proven.
//
// Each member is observed once when the collector starts. LookedOnce reports when that is over, so that nothing is
// signed based on records from before a restore. Members are also observed on demand (Refresh), before an action that
// cannot be undone, and:
//
//   - static pods: when a pod, the record of a revision or the expectation changes, and in flight before half of a
//     lease is over. Watches only trigger it; observations read from the API server.
//   - pods of workloadRollout and mounted: in any stage when their containers, references or contents change, and in
//     flight before half of a lease is over. What was missed of a process can never be known later. If everything is
//     known of a process, only its pod is read.
//   - objects with a caBundle: in flight every five seconds, and at once when the project's own injector has written
//     them.
//   - probed members: in flight at the probe's interval. In the stage Stable, only those not yet seen to follow: at
//     growing intervals, and at once when the expectation or what their static pod runs changes. Pods are probed at
//     once, in any stage, after a restart or with a new address. While no server answers in flight, their interval
//     grows up to 30 seconds.
//
// Config.HandshakesPerSecond bounds all handshakes and spreads them evenly. The wait for a turn is not part of a
// timeout.
//
// Absences proves that members are gone which the configuration no longer names. The proof is about the pod of a pod,
// the object of a caBundle, and the node of other members. None substitutes for another, and a failed query proves
// nothing.
//
// Invariants:
//
//   - A record is written only if its content changes, if the member restarted after it, or if half of a lease is
//     over. The last applies in flight, at the first observation and on demand, and in the stage Stable to members
//     that do not follow.
//   - An observation is compared with the record itself, not with a cached copy.
//   - After a failure, only the leaves that the process may still present are kept. The text of a failure has no
//     ephemeral part, such as a local port, so a lasting failure is written once.
//   - The probe's timeout bounds the connections of a probe in time, the limits of crypto/tls on handshake messages
//     in size. No session is resumed and no request is sent: the server sees a well-behaved client with nothing to
//     say.
//   - Private keys are read for each observation and not kept. Copies of a revision and leaves are read whole, keys
//     included, because hashes cover everything.
//   - What a server presents and accepts counts only if it has proven to hold the key of a leaf of the trust domain.
//     Nothing is recorded of others: their failure looks like a closed port, and only the log tells (see connection).
//   - controller/dial makes the connections. It refuses addresses that no tenant may have dialled.
//   - Nothing is recorded of an object whose annotation does not ask for the bundle, not even that it exists. The
//     author of a configuration may lack the right to read it.
//
// Goroutines: Run starts twice Config.Concurrency workers, and two watches for each namespace with static pods, and
// waits for them. A worker observes up to 8 processes of a member at a time, with 4 connections each. Refresh waits
// for its own goroutines. NamespaceChanged is safe for concurrent use and does not block.
package evidence
