// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copies keeps the copies that a configuration asks for: bundles and leaves under other names or in other
// namespaces, for those who read them there. What a copy may hold is decided by trust.AssessBundleCopy and
// trust.AssessLeafCopy; this package only writes.
//
// Invariants:
//
//   - A copy follows its source and the protocol, and never outruns it. What a foreign hand did to a source, and what the
//     protocol would not have allowed, is not spread.
//   - A source that vanished, is empty or cannot be read takes nothing from its copies, and neither does a configuration that
//     cannot be read.
//   - Only tls.crt, tls.key and ca.crt of a leaf, and ca-bundle.crt of a bundle are copied. Other keys, annotations and
//     labels of the copy belong to others and stay.
//   - A copy is one write, on live reads of the source and of the copy: of that source which the decision was about, with
//     the resource version of the copy. When nothing has changed nothing is written, and nothing is read.
//   - Nothing is written into another namespace that does not accept that very object by its annotation
//     certrotation.dev/copies-from, which is read live before each write: whoever may write a configuration gets no power
//     over other namespaces. trust.JudgeCopy decides.
//   - Nothing that was there before is taken over: in another namespace only what is marked as a copy from this one is
//     written, within the namespace only what says itself that the configuration may use it.
//   - What is withdrawn is taken back, whatever the state of its source: an entry of the annotation, the copy in the
//     configuration, the label certrotation.dev/managed of its namespace. The object is deleted as it was read; what others
//     have put into it stays, and what they have put in place of the copy is theirs. Where the controller may not delete, the
//     copied keys are emptied.
//
// A copy has the label certrotation.dev/copy-of, by which it is watched: whatever is done to it is undone at once, and a copy
// that nobody wants any more is found after a restart. The metadata of the Namespaces is watched for their consent. With
// Config.Namespaces it is not, because a Role cannot allow that: there it is read each time a copy is looked at.
//
// A rotation does not wait for the copies as such. It waits for the members that read them: name them as relying parties.
//
// Goroutines: Run starts the watches and the workers, and ends when they have. NamespaceChanged may be called from
// anywhere at any time.
package copies
