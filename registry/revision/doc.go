// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revision says what a numbered revision of a static pod is: its content, the two hashes that identify it, the
// names of the objects that hold it, what its ConfigMap says of it, and the manifest that is made of its pod template on a node.
//
// Everything here is a pure function of its arguments: no clock, no I/O, no client.
//
// Invariants:
//
//   - Two contents have the same [Content.ContentHash] only if they are the same, key by key: everything that is hashed
//     is preceded by its length. The order of keys plays no part.
//   - Two contents have the same [Content.RestartHash] only if a process that runs with one need not restart for the
//     other: what may differ is the data of Secrets that the process reads anew by itself. ConfigMaps hold trust and the
//     manifests; both are read at start, so they are never left out. The static pods of a node have one hash together:
//     what restarts one of them restarts all.
//   - [Manifest] makes nothing that the StaticPodClass of the rollout does not permit (permits): a field that neither the
//     class nor this package knows is refused. A text is bounded before it is expanded, and YAML aliases are not read.
//   - [NodeCopyName] gives different names to different nodes, and none that [CopyName] gives.
//   - [Manifest] yields the same bytes for the same input. What it yields mounts the directory of its own revision and of
//     no other one, as a directory, so that the pointer in it can be swapped under a running process.
//
// The package starts no goroutine.
package revision
