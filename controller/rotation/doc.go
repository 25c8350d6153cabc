// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rotation performs what registry/trust allows. It watches the inventory, calls trust.Assess for each trust
// domain and trust.AssessAggregate for each aggregate, and carries out the returned actions. It contains no rule of
// the protocol.
//
// Invariants:
//
//   - An action is one write of one object. The live object is read first: if it is not the one of the decision,
//     nothing is written. The write carries the resource version, so it fails if the object changes in between. After
//     a crash between two writes, Assess continues from what is stored.
//   - After a write, the next decision on the domain waits until the inventory has seen it (expectations). If that
//     takes too long, the decision uses live reads.
//   - An irreversible action is done only if it is proposed again on fresh evidence and live reads. The reads include
//     configurations and records, and others are asked about the clock. Such actions come last.
//   - Nothing is done before every observable member was observed once since the start (Evidence.LookedOnce). Nothing
//     is done while the kubelets or the API server disagree with the clock (Skew).
//   - A write that the API server refuses becomes a record, one event and a metric; the model makes a blocker of the
//     record. The action has its own back-off, up to five minutes, and holds up no other action. The record is
//     deleted when the write succeeds or is no longer wanted.
//   - An event that says what was done follows the write that did it.
//   - A key that is replaced or dropped moves to the slot previous. Only DestroyPrevious destroys keys.
//   - Foreign keys, annotations and labels of an object stay as they are, except in aggregates, whose data is owned
//     as a whole.
//   - A private key is read at the moment when it signs or is copied, as is the password of a keystore, and is kept
//     nowhere. A keystore is in the same write as its pair.
//   - A failure in one domain, a panic included, stops that domain only. A conflict is no error: another client has
//     written, and the domain is requeued.
//   - If there is nothing to do, nothing is written, read or logged.
//   - The status of a RotationConfiguration is applied when its text changes. It says what is wrong with the
//     configuration. Of each domain it gives the stage, and what the domain has waited for longer than members take
//     to reload. Nothing in it changes with time alone.
//
// A leaf Secret has the anchors of the bundle under ca.crt, for consumers that mount only the leaf. This copy gains
// an anchor before the bundle does and loses it after (trust.UpdateLeafAnchors).
//
// Goroutines: Run starts the workers and returns when they have finished what they were doing. A worker owns a key of
// the queue (a domain, or the namespace's aggregates) while it works on it. So no two work on one domain.
// NamespaceChanged may be called from any goroutine at any time.
package rotation
