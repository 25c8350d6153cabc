// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission is the guard: a validating admission webhook. It denies edits of Secrets, ConfigMaps and
// RotationConfigurations that would break a trust domain. It also denies edits of RotationRecords by users other than
// certrotation itself.
//
// It contains no rule of the protocol. It builds trust.Domain values from the sources of the namespace, with the
// object before and after the edit. trust.Judge, or trust.JudgeConfiguration for a configuration, reports the
// invariants that the edit breaks. This package decides when to ask the model, how certain an answer must be, and how
// to render it.
//
// Certainty:
//
//   - An irrelevant edit is allowed without judging: no configuration in the namespace, an object that no
//     configuration claims, or no change that the model reads. An edit that is allowed and removes nothing is decided
//     from the shared view alone. Neither costs an API call.
//   - The shared view may lag behind the very write that makes an edit safe, so live reads confirm a denial. They
//     also confirm permission to remove an anchor, a slot of a signer, an object or a trust domain.
//   - If the view has not synced or a live read fails, the request fails with 503 and the webhook's failurePolicy
//     decides. Exception: a violation in the view is positive evidence, so the edit is denied even if the live read
//     fails.
//
// Further invariants:
//
//   - Only kube-apiserver gets answers. The server, not the Handler, authenticates the client before it reads a byte
//     of the body (cmd/certrotation/app/serve). A review cannot prove that it comes from kube-apiserver: any reader
//     of an object can forge a review of its deletion, and would learn who depends on it. A denial names objects of
//     the namespace only to the user whose edit kube-apiserver has already authorized.
//   - The cost of reviews is bounded: in number at a time, in bytes, in the time that a body takes, and in live
//     reads, one at a time per namespace. A review that arrives during a live read waits for the next: a read that
//     began earlier may lack what its edit depends on.
//   - Deletion of a namespace is never blocked.
//   - A review has no side effects; a dry run is judged like a real request.
//   - Bodies carry private keys. Nothing of a body is logged, kept or quoted in an answer, and decoder errors are not
//     passed on.
//
// Two edits that are judged concurrently do not see each other; the controller repairs what they break together.
//
// A Handler starts no goroutine. It is safe for concurrent use.
package admission
