// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mounted derives what a pod has loaded from its mounted immutable Secrets and ConfigMaps, if their names end
// in a hash of their content. kustomize's generators and Gardener make such names.
//
//	pod's spec ──► volume ──► immutable object NAME-HASH, HASH of its content ──► the pod read that content
//
// The volumes of a pod never change, nor does the mounted content of an immutable object. That is not enough:
//
//	object recreated with other content ──► new pod on a node where a pod with the former object is left
//
// kubelet caches an immutable object while a pod of its node mounts one of that name, and gives the new pod the
// cached one. That the object is immutable and older than the pod does not exclude this. Its name does: a name that
// ends in a hash of the content never had other content.
//
// Invariants:
//
//   - A proof about a pod stays true, even after its containers restart and the objects change: its files cannot.
//     Only a request for other volumes needs a new proof.
//   - A pod proves everything that is asked for at once, or nothing; then the failure says what to do next.
//   - An optional volume proves nothing: the program may have started without it.
//   - An object that is younger than the pod proves nothing: the pod began with another one, or without. Times
//     are whole seconds. An object of the same second counts as older, because a pod waits for its mounts.
//   - An object that does not consent to the configuration proves nothing, because the hash requires reading
//     everything of a Secret.
//   - Two assumptions cannot be checked. No object with other content, which did not match its name, had the name
//     when the pod began. And the program reads the volumes and the key that the configuration names.
//
// All functions are pure; the package starts no goroutine.
package mounted
