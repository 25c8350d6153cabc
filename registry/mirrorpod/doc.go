// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mirrorpod derives what the static pod of a node runs with. Look finds the revision in the mirror pod and in
// the records of installations. Prove compares the revision's copies with its recorded hashes. Trusts and Presents
// read them.
//
// Decisions depend on content, not on numbers. A pod's restart hash identifies the files that its process read at its
// start. Only a revision with that hash counts, regardless of its number, and only while its copies have the recorded
// hashes. So a revision that was recreated with the same number and other content proves nothing.
//
// Several static pods of one revision on a node count as one. The node runs with what all of them run with; while
// they differ, nothing is known.
//
// Leaves can be newer than the manifest, because a revision with the running restart hash is installed without a new
// manifest. The process presents the newest leaves recorded as installed on this node that no other manifest has
// followed. Records are by the node's UID: a node replaced under the same name has none. These leaves prove the trust
// as well, because revisions with the same restart hash have the same trust. If an operator restores a manifest,
// leaves installed under it count only from the next restart on. Until then the older leaves are reported, which
// delays dependent steps and is harmless.
//
// All functions are pure; the package starts no goroutine.
package mirrorpod
