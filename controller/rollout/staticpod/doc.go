// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package staticpod rolls numbered revisions of certificates, trust bundles and manifests out to the static pods of
// nodes. It is one loop: observe, registry/rollout.Assess, report, act. The rollout rules are in registry/rollout.
// This package cuts revisions, runs installer and pruner pods on nodes, and reports.
//
// Invariants:
//
//   - Every decision uses live reads of one pass: nodes, pods, revisions, sources, and the quorum if it matters.
//     Watches only enqueue.
//   - The status is written before anything starts on a node. Every step may be interrupted; the next pass continues.
//   - A revision holds what was read at one moment, and only what is in sync with its aggregate. Copies are immutable
//     and owned by the ConfigMap of their revision. Objects that are not copies of this rollout are neither changed
//     nor deleted.
//   - An installer pod refers only to the pairs of its own node, in a Secret NAME-REVISION-NODE. So the Node
//     authorizer lets no kubelet read the pairs of another node. The pod makes no API request, has no token, and is
//     not privileged. Its ServiceAccount installer-sa has no rights, and no Role exists for it.
//   - A StaticPodClass permits what runs on a node: the image, the directories, and the shape of the pod. The
//     controller checks that before it cuts a revision, and the installer checks it again. Without a class, nothing
//     starts and no source is read.
//   - An installer gets what the revision recorded: the controller verifies the copies first, and the installer
//     compares the hash.
//   - If there is nothing to do, nothing is written.
//
// The loop replaces the static pod controllers of cluster-etcd-operator. docs/comparison.md says where each of their
// controllers, conditions, events and metrics is here.
//
// Events are on the ConfigMap of the aggregate, which a BundleStatus stands for. Conditions are in the ConfigMap
// NAME-rollout; registry/rollout.Decode reads it. To reinstall a revision on a node, delete its installer pods of
// that node, and remove the node's annotation from the ConfigMap of the revision.
//
// Goroutines: Run starts the workers and the watches, and returns when they have ended. A worker owns a namespace
// while it works on it. NamespaceChanged may be called from any goroutine at any time.
package staticpod
