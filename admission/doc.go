// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission is the guard: a validating admission webhook that refuses edits of Secrets, ConfigMaps and
// RotationConfigurations which would break a trust domain, and edits of RotationRecords by anybody but certrotation itself.
//
// It knows no rule of the protocol. A review becomes a question to the model: the sources of the namespace with the
// object as it was, and with the object as it would be, are built into trust.Domain values, and trust.Judge, or for a
// configuration trust.JudgeConfiguration, says which invariants the difference breaks. What lives here is when to ask, how sure the answer is, and how it is put to people.
//
// How sure:
//
//   - An edit that cannot matter (no configuration in the namespace, an object that no configuration claims, nothing
//     changed that the model reads) is allowed without asking. An allowed edit that takes nothing away is allowed from
//     the shared view alone. Neither costs an API call.
//   - The shared view may be behind the very write that makes an edit safe, so a denial is confirmed against live
//     reads. So is permission to take something away: an anchor, a slot of a signer, an object, a trust domain.
//   - Where that cannot be found out (the view has not synced, a live read fails) no answer is made up: the request
//     fails with 503 and the failurePolicy of the webhook decides. A violation that the view shows is positive
//     evidence, and is denied also when the live read fails.
//
// Further invariants:
//
//   - Only kube-apiserver is answered. A Handler does not ask who calls: whoever serves it does, before a byte of the body is
//     read (cmd/certrotation/app/serve). A denial names objects of the namespace to the user whose edit kube-apiserver has
//     authorized already, and to nobody else. Nothing in a review itself could prove that it comes from kube-apiserver: who
//     can read an object can put together a review of its deletion, and would be told who depends on it.
//   - What reviews cost is bounded: in number at a time, in bytes, in the time that a body takes, and in live reads, of which
//     there is one at a time for a namespace. A review that comes while one is under way waits for the next: what was read
//     before it came may lack what its edit depends on.
//   - Deletion of a namespace is never blocked.
//   - A review has no side effects; a dry run is judged as the real thing.
//   - Bodies carry private keys. Nothing of a body is logged, kept, or quoted in an answer, and errors of the decoder
//     are not passed on.
//
// Two edits that are judged at the same moment do not see each other; what both together break is for the controller to
// put right.
//
// A Handler starts no goroutine. It is safe for concurrent use.
package admission
