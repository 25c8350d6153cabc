// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trust is the model of certrotation: the state of a trust domain, its next actions, and the edits that would
// break it. The API renders its answers, the webhook asks it, the controller executes it. No other package has rules
// of the protocol.
//
// A Domain is a snapshot of one trust domain. registry/view/inventory makes it from Secrets, ConfigMaps, Nodes, the
// configuration, and records: requests, roster, waivers, evidence, refused writes, and the controller's clock skew.
//
// Assess is four steps (decide). Each is a value that is computed once, from the one before it and nothing else, and
// says until when it holds:
//
//	facts     what the content says: chains, slots, anchors, which CA signed what, whether the clock is right
//	roster    who counts, who runs, and what was observed of them
//	proofs    what each has shown of each CA and leaf
//	decision  the stage; from it the blockers, problems and actions of the Assessment
//
// A step embeds the one before it; steps_test.go keeps files from referring to a later step. Judge returns the
// invariants that an edit of an object would break. JudgeAggregate, JudgeConfiguration and JudgeRecord do so for other
// edits. PlanRotation lists the steps of a rotation before it starts.
//
// Everything here is a pure function of its arguments: no I/O, no randomness, no private key, no clock but the one
// passed in. Values are never mutated after they are built, so goroutines may share them. The package starts none.
//
// Rules that decide everything else:
//
//   - a stage is derived from certificate bytes each time. Annotations are a cache and a request channel;
//   - an established CA may sign without further evidence. It is the active CA, its anchor is in the bundle, and its
//     leaves cut no member off: every live leaf chains to it already, or the domain rotates away from it;
//   - any other CA may sign a leaf only if every member that verifies the leaf shows evidence of its anchor: the CA
//     itself, or the root of an intermediate (chains.go);
//   - the next CA of an intermediate is signed outside (install.go);
//   - an anchor leaves the bundle only when no live leaf can chain to it: none in a Secret, and none that a holder
//     might still present;
//   - the members that count are recorded before a key is made (record.go), and none stops counting by not being
//     named;
//   - in flight a configuration only grows, and at rest it gives up only what is released by name;
//   - evidence is of a process, of one kind, and ends (observation.go). A member is all of its processes. Records of
//     members that are neither configured nor count are dropped when they have ended (writes.go);
//   - missing information, or time alone, never leads to an irreversible step;
//   - an object is used only if it consents to the configuration that names it (consent.go). Any other existing
//     object is unknown and untouched, and nothing that needs it is done.
package trust
