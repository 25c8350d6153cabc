// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rotation performs what registry/trust allows: it watches the inventory, asks trust.Assess for each trust
// domain and trust.AssessAggregate for each aggregate, and carries out the actions of the answer. It knows no rule of
// the protocol; it knows how to make exactly one write for each kind of action.
//
// Invariants:
//
//   - An action is one write of one object. The live object is read first: if it is not the one that the decision was
//     made on, nothing is written. The write itself carries the resource version, so that it fails if the object
//     changes in between. A crash between any two writes leaves a state that Assess continues from.
//   - After a write nothing more is decided for the domain before the inventory has seen that write (expectations). If
//     that takes too long, the decision is made on live reads.
//   - An irreversible action is done only if it is proposed again after the evidence was collected anew, everything was
//     read live, configuration and records included, and whoever has a clock was asked. Such actions come last.
//   - Nothing is done before every member that is observed was looked at once since the start (Evidence.LookedOnce), nor
//     while the kubelets or the API server disagree with the clock (Skew).
//   - A write that the API server refuses is a record, one event and a metric, which the model makes a blocker of. Its
//     action has a back-off of its own, up to five minutes, and stands against no other action. The record goes when the
//     write succeeds or nobody wants it any more.
//   - An event that says what was done follows the write that did it.
//   - A key that is replaced or dropped moves to the slot previous. DestroyPrevious alone destroys keys.
//   - Foreign keys, annotations and labels of an object stay as they are, except in aggregates, whose data is owned
//     as a whole.
//   - A private key is read in the moment in which it signs or is copied, and is kept nowhere.
//   - Whatever goes wrong in one domain, a panic included, stops that domain only. A conflict is no error: it means
//     that somebody else wrote, and the domain is looked at again.
//   - When nothing is to be done nothing is written, read or logged.
//   - The status of a RotationConfiguration is applied when what it says changes: what is wrong with it, and for each
//     domain its stage and what it has waited for longer than members take to reload. Nothing in it moves with the clock.
//
// A leaf Secret has the anchors of the bundle under ca.crt, for consumers which mount nothing but the leaf. They are a copy that gains
// an anchor before the bundle does and loses it after (trust.UpdateLeafAnchors).
//
// Goroutines: Run starts the workers and ends when they have finished what they were doing. A worker owns a key of the
// queue (a domain, or the namespace's aggregates) while it works on it, so no two work on one domain.
// NamespaceChanged may be called from anywhere at any time.
package rotation
