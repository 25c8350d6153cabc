// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trust is the model of certrotation: what a trust domain is, where its rotation stands, what may be done next,
// and which edits would break it. The API renders its answers, the webhook asks it, the controller executes it; no rule
// of the protocol lives anywhere else.
//
// A Domain is a snapshot of one trust domain, made by registry/view/inventory from Secrets, ConfigMaps, Nodes, the
// configuration and what is recorded: requests, roster, waivers, evidence, refused writes, and how far the controller's clock
// is off. Assess derives the stage, the blockers and the next actions from it; the last thing that it derives is when time
// alone changes them (recheck.go). Judge says which invariants an edit of an object would break, JudgeAggregate,
// JudgeConfiguration and JudgeRecord those of an edit of what else there is. PlanRotation lists the steps of a rotation before
// it starts.
//
// Everything here is a pure function of its arguments: no I/O, no randomness, no clock but the one passed in, and no
// private key. Values are never mutated after they are built, so they may be shared between goroutines; the package
// starts none.
//
// Rules that decide everything else:
//
//   - a stage is derived from certificate bytes on every look. Annotations are a cache and a request channel;
//   - a CA is established when it may sign without further evidence: it is the active CA, its anchor is in the bundle,
//     and nobody could be cut off by its leaves (every live leaf chains to it already, or it is what the domain
//     rotates away from). Any other CA may sign a leaf only if every member that verifies the leaf shows evidence;
//   - an anchor leaves the bundle only when no live leaf can chain to it: none in a Secret, and none that a holder
//     might still present;
//   - who counts is recorded before a key is made (counted.go), and nobody ceases to count by not being named;
//   - in flight a configuration only grows, and at rest it lets go of nothing that is not released by name;
//   - evidence is of a process, of one kind, and ends (observation.go); a member is all of its processes. What is recorded of
//     who neither is configured nor counts is dropped when it has ended (ownerless.go);
//   - nothing irreversible follows from what is lacking, or from time alone;
//   - an object is used only if it consents to the configuration that names it (consent.go). Of any other that exists
//     nothing is known, nothing is done with it or to it, and nothing that needs it is done.
package trust
