// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirrorpod derives what the static pod of a node runs with: Look finds the revision in the mirror pod and in
// the records of what was installed, Prove compares the copies of that revision with its recorded hashes, Trusts and
// Presents read them.
//
// Decisions are based on content, not on numbers. The restart hash of a pod identifies what its process has read at its
// start. Only a revision with that hash counts, whatever its number, and only while its copies still have the recorded
// hashes. So a revision that was deleted and created anew with the same number and other content proves nothing.
//
// Where a revision brings several static pods to a node, they count as one: it runs with what all of them run with, and with
// nothing that is known while they differ.
//
// Leaves can be newer than the manifest, because a revision with the restart hash of the running one is installed
// without a new manifest. The process presents the newest of those that are recorded as installed on this very node (by
// UID: a node that was replaced under the same name has none) and that no other manifest has followed. It proves the
// trust as well, because revisions with the same restart hash have the same trust. After a manifest was put back by
// hand, leaves that are installed under it count only from the next restart on: until then the older leaves are
// reported, which delays what depends on them and does no harm.
//
// Everything is a pure function; the package starts no goroutine.
package mirrorpod
