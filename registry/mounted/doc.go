// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mounted derives what a pod has loaded from the immutable Secrets and ConfigMaps that it mounts, if these are named by
// their content, as kustomize's generators and Gardener do it.
//
//	pod's spec ──► volume ──► object NAME-HASH: immutable, and HASH is that of its content     so that content is what was read
//
// The volumes of a pod never change, nor does what is mounted of an immutable object. That is not enough:
//
//	object deleted, and made anew with other content ──► a new pod on a node where one with the former is left
//
// kubelet keeps an immutable object in its cache as long as a pod of its node mounts one of that name, and gives the new pod the
// former. That the object is immutable and older than the pod does not exclude that, but its name does: one that ends in a hash of
// the content had no other content before.
//
// Invariants:
//
//   - What a pod was once proven to have loaded stays true of it, also after a restart of its containers, whatever becomes of the
//     objects: its files cannot change. Only who asks for other volumes asks anew.
//   - All that is asked for is proven at once, or nothing is, and the failure has a text with the next step.
//   - An optional volume proves nothing: the program may have started without it.
//   - An object that is younger than the pod proves nothing: the pod began with another one, or without. Times are whole seconds; one
//     of the same second counts for older, as a pod waits for what it mounts.
//   - An object that does not consent to the configuration proves nothing: of a Secret everything is read, as a hash is over
//     everything.
//   - What cannot be told apart is assumed: that no object of other content, which did not fit its name, had the name when the pod
//     began; and that the program reads the volumes and the key that the configuration names.
//
// Everything is a pure function; the package starts no goroutine.
package mounted
