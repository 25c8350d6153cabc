// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package staticpod brings numbered revisions of certificates, trust and manifests to the static pods of nodes. It reads
// what is there, asks registry/rollout what is next, and does that. It knows no rule of the rollout; it knows how to cut a
// revision, to run an installer or a pruner on a node, and to say what goes on.
//
// Invariants:
//
//   - Every decision is made on live reads of one look: nodes, pods, revisions, sources, and the quorum if that matters.
//     The watches only say when to look.
//   - The status is written before anything is begun on a node. Every step can be cut off; the next look goes on.
//   - A revision is made of what was read at one moment, and of nothing that is not as its aggregate wants it. Copies are
//     immutable and belong to the ConfigMap of their revision. What is not a copy of ours is neither changed nor deleted.
//   - An installer pod refers to the pairs of its own node only, in a Secret NAME-REVISION-NODE of that node, so that the Node
//     authorizer lets no kubelet read those of another one. It asks the API for nothing, has no token, and is not privileged:
//     the ServiceAccount installer-sa has no rights at all, and no Role is made for it.
//   - What runs on a node is what a StaticPodClass permits: its image, its directories, and the shape of the pod, judged before
//     a revision is cut and again by the installer. Without a class nothing is begun, and no source is read.
//   - What an installer gets is what the revision recorded: the copies are proven before, and the installer compares the hash.
//   - When nothing is to be done nothing is written.
//
// It is one loop in the place of the static pod controllers of cluster-etcd-operator: observe, registry/rollout.Assess, report,
// act. docs/comparison.md says of each of their controllers, conditions, events and metrics where it is here.
//
// Events are on the ConfigMap of the aggregate, which a BundleStatus stands for. Conditions are in the ConfigMap
// NAME-rollout; registry/rollout.Decode reads it. To have a revision installed on a node again, delete its installer pods
// of that node, and remove the annotation of the node from the ConfigMap of the revision.
//
// Goroutines: Run starts the workers and the watches and ends when they have ended. A worker owns a namespace while it
// works on it. NamespaceChanged may be called from anywhere at any time.
package staticpod
