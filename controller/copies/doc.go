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
//   - A source that vanished, is empty or cannot be read takes nothing from its copies. Nothing is ever deleted here, not
//     even a copy that is no longer configured.
//   - Only tls.crt, tls.key and ca.crt of a leaf, and ca-bundle.crt of a bundle are copied. Other keys, annotations and
//     labels of the copy belong to others and stay.
//   - A copy is one write, on live reads of the source and of the copy: of that source which the decision was about, with
//     the resource version of the copy. When nothing has changed nothing is written, and nothing is read.
//   - Nothing is written into another namespace that has not agreed to that by the annotation certrotation.dev/copies-from,
//     unless it is marked as this very copy already: whoever may write a configuration gets no power over other namespaces.
//   - An object that is there already is taken over, unless it is of another type, a configuration claims it as something
//     else, or it is a copy that another configuration asks for.
//
// A copy has the label certrotation.dev/copy-of, by which it is watched: whatever is done to it is undone at once.
//
// A rotation does not wait for the copies as such. It waits for the members that read them: name them as relying parties.
//
// Goroutines: Run starts the watches and the workers, and ends when they have. NamespaceChanged may be called from
// anywhere at any time.
package copies
