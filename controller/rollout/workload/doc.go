// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload restarts the Deployments, StatefulSets and DaemonSets whose pods read their files only at start,
// when a rotation waits for them. Its caller provides the function that decides which are due. registry/restart
// decides what may be done with one. This package only reads, writes and reports.
//
// Invariants:
//
//   - A template is written in the version that was read, after live reads of the workload, its pods, and the
//     configuration that it consents to. Only annotations of the template change. A pod is deleted only if nothing
//     runs in it, in the version that was read.
//   - A pod that is an etcd member is evicted in the version that was read, on answers that all members gave in the
//     same pass. A pass evicts at most one pod of a workload.
//   - A workload that is due for several trust domains is written once, for all of them.
//   - What holds a restart up is recorded (RotationRecord of the kind Refusal, with the verb restart). So the
//     rotation shows it wherever it shows blockers. The record is deleted with its cause.
//   - Where nothing is due, nothing is read. Where something is due, everything is read every five seconds at most.
//
// Goroutines: Run starts the workers, and returns when they have ended. One worker at a time works on a namespace.
// NamespaceChanged may be called from any goroutine at any time.
package workload
