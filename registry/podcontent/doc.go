// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podcontent derives what a pod has loaded from its spec: by the content that its template names behind a start
// gate, or by the immutable objects that it mounts. All functions are pure; the package starts no goroutine.
//
// # Start gates
//
// They prove what a pod has loaded if its program reads files only at start.
//
// The pod template names its contents in annotations (trust.ContentAnnotation), by hash (registry/contenthash).
// kubelet may mount an older, cached content. So a start gate is needed: an init container that runs `certrotation
// wait` until the mount shows the content. No reader of the content starts before it.
//
//	template names H ──► gate waits for H ──► program starts, and reads ──► observe: the object is H   so it read H
//	                     or a later one
//
// A mount only ever becomes newer. The pod is read before the objects are: it started, behind its gate, with H or
// something newer. While the object is H there is nothing newer. A container that restarts within its pod passes no
// gate, but finds files at least as new as its gate saw, so the same holds.
//
// A bundle that replaces H names H and the bundles before it (contenthash.SupersedeConfigMap). So a pod of an older
// template still starts, with a newer bundle. That proves nothing, as if it had started earlier unobserved. Its
// template is updated when a rotation needs its evidence (trust.Restarts). A leaf Secret names only former contents
// with the same leaf and other anchors under ca.crt. Pods with a former leaf are restarted at once, including pods at
// its gate.
//
// Invariants:
//
//   - The files that a process has loaded stay the same while it runs. So an observation of it stays true even if
//     objects or annotations change, and takes precedence over a later one.
//   - A process that was never observed while the object was the one that the pod names is unknown. It may have
//     loaded that content, a newer one or, after a restart, any in between.
//   - Where the Secret of a leaf has anchors, a pod has loaded only those anchors of the bundle that the Secret has
//     too.
//   - Without an annotation, or without a required gate, nothing is proven, and the pod's fault has a text.
//   - A replaced bundle never comes back, even if its anchors do: its hash also covers the bundles that it replaced.
//   - Two things cannot be detected and are assumed never to happen: an object is restored as a whole, past the
//     guard, by deletion or by edits back and forth; the annotations of a pod are edited before it is observed.
//
// # Mounted objects
//
// They prove what a pod has loaded from its mounted immutable Secrets and ConfigMaps, if their names end
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
package podcontent
