// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirrorpod says what the static pod of a node runs with: Look finds the revision in the mirror pod and in the
// records of what was installed, Prove compares the copies of that revision with its recorded hashes, Trusts and Presents
// read them.
//
// What decides is content: numbers say nothing of it. A pod says by its restart hash what its process has
// read at start. Only a revision with that hash counts, whatever its number is, and only while its copies still have the
// recorded hashes. So a revision that was deleted and made anew under the same number with other content proves nothing.
//
// Leaves can be newer than the manifest: revisions with the restart hash of the running one are put under it. The newest
// of those that are recorded as installed on this very node (by UID: a node that was replaced under the same name has
// nothing) and that no other manifest has followed is what the process presents. It proves the trust as well, because
// revisions of one restart hash have the same trust. After a manifest was put back by hand, leaves that are installed under
// it count only from the next restart on: until then the older leaves are reported, which holds back what depends on them
// and releases nothing.
//
// Everything is a pure function; the package starts no goroutine.
package mirrorpod
