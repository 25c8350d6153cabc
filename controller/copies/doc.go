// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copies keeps the copies that a configuration asks for: bundles and leaves under other names, in other
// namespaces or in other clusters. trust.AssessBundleCopy and trust.AssessLeafCopy decide what a copy may hold; this package only writes.
//
// Invariants:
//
//   - A copy follows its source and the protocol, and never outruns it. It spreads neither a foreign change of a
//     source nor a change that the protocol does not allow.
//   - A source that is missing, empty or unreadable takes nothing from its copies. Neither does an unreadable
//     configuration.
//   - Only tls.crt, tls.key and ca.crt of a leaf, and ca-bundle.crt of a bundle are copied. Other keys, annotations
//     and labels of the copy belong to others and stay.
//   - A copy is one write after live reads of source and copy. The source must be the version of the decision, and
//     the write carries the resource version of the copy. Without a change nothing is written or read.
//   - Another namespace is written to only if its annotation certrotation.dev/copies-from accepts that very object.
//     It is read live before each write: the right to write a configuration gives no power over other namespaces.
//     trust.JudgeCopy decides.
//   - No existing object is taken over. In another namespace only marked copies from this one are written. Within the
//     namespace the object itself must consent to the configuration.
//   - A withdrawn copy is deleted, regardless of the state of its source. To withdraw is to remove the entry of the
//     annotation, the copy in the configuration, or the label certrotation.dev/managed of its namespace. The object
//     is deleted as it was read. Keys of others stay, and so does an object that replaced the copy. Without the right
//     to delete, the controller empties the copied keys.
//
// A copy has the label certrotation.dev/copy-of, which the watch selects. Any change to a copy is undone at once, and
// an unwanted copy is found after a restart. Namespace metadata is watched for consent, except with
// Config.Namespaces: a Role cannot allow that watch, so the Namespace is read at each reconciliation of a copy.
//
// Copies in other clusters have rules of their own:
//
//   - Their consent is the same, and the kubeconfig's (controller/remote). They have another label: a certrotation there
//     must not take them for its own.
//   - A copy of a leaf waits until the copies of its bundle in that cluster hold its CA. What they hold is known only
//     after a read with the kubeconfig as it is.
//   - Nothing is watched there. A copy is read after a change here, and at a resync.
//   - A cluster that does not answer delays no other: it holds one worker at most, and none while it is left alone.
//   - A copy that is no longer wanted is found only by the process that knew it.
//
// A rotation does not wait for copies as such. It waits for the members that read them: name them as relying parties.
//
// Goroutines: Run starts the watches and the workers, and returns when they have ended. NamespaceChanged is safe from
// any goroutine at any time.
package copies
