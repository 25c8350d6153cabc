// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revision defines a numbered revision of a static pod: its content, the two hashes that identify it, its
// object names, its status ConfigMap, and the manifest that its pod template makes on a node.
//
// Everything is a pure function of its arguments: no clock, no I/O, no client.
//
// Invariants:
//
//   - Equal [Content.ContentHash] means equal content, key by key: every hashed value is preceded by its length. The
//     order of keys does not matter.
//   - Equal [Content.RestartHash] means that a running process need not restart: only Secrets that it reloads by
//     itself may differ. ConfigMaps hold trust and manifests, which are read at start, so they always count. The
//     static pods of a node share one hash: what restarts one of them restarts all.
//   - [Manifest] makes only what the StaticPodClass of the rollout permits (see permits). It refuses a field that
//     neither the class nor this package knows. It bounds a text before expanding it and does not read YAML aliases.
//   - [NodeCopyName] gives different nodes different names, and never a name that [CopyName] gives.
//   - [Manifest] yields the same bytes for the same input. The pod mounts only the directory of its own revision, as
//     a whole: so the pointer in it can be swapped under a running process.
//
// The package starts no goroutine.
package revision
