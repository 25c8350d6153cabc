// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package startgate derives what a pod has loaded whose program reads its files only when it starts.
//
// The template of such a pod names the contents that it starts with, in annotations (trust.ContentAnnotation) with their hashes
// (registry/contenthash). kubelet may mount an older content that it has cached. So there is a start gate: an init container
// that runs `certrotation wait` until the mount shows the content, and before which nothing starts that reads it.
//
//	template names H ──► gate waits for H ──► program starts, and reads ──► look: the object is H   so what was read is H
//	                     or a later one
//
// What is mounted only ever becomes newer. A pod is read before the objects are: what runs then had started, behind its gate,
// with H or something newer, and while the object is H there is nothing newer. A container that was started again within
// its pod passes no gate, and finds files that are as new as those that the gate has seen: for it the same holds.
//
// A bundle that replaces H names it (contenthash.SupersedeConfigMap), and those before. So a pod of a template that was written before
// that still starts, and with a bundle that is newer. It proves nothing by that, as if it had started before and was not
// seen: its template is brought up to date when somebody needs to know what it has loaded (trust.Restarts). The Secret of a
// leaf names those before it with other anchors under ca.crt, and no other leaf: whoever presents the former one is restarted at once,
// those at its gate with it.
//
// Invariants:
//
//   - What a process has loaded does not change while it runs. So what was seen of it once stays true of it, whatever becomes
//     of the objects or of the annotations, and counts more than what would be seen now.
//   - Of a process that was never seen while the object was what the pod names, nothing is known: it may have that content, a
//     newer one or, after a restart, any in between.
//   - Where the Secret of a leaf has anchors, a pod has loaded those of the bundle as far as that Secret has them too.
//   - Without an annotation, or without a gate where one is required, nothing is proven, and the pod's fault has a text.
//   - A bundle that was replaced does not come back, even if its anchors do: its hash is also over what it has replaced.
//   - What cannot be told apart is assumed: that nobody puts back the whole of an object as it was, past the guard or by
//     deleting it, or edits it to and fro; and that nobody edits the annotations of a pod before it was looked at.
//
// Everything is a pure function; the package starts no goroutine.
package startgate
