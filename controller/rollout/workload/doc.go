// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package workload restarts the Deployments, StatefulSets and DaemonSets whose pods read their files only at start, when a
// rotation waits for them. Which are due is decided by the function that it is given, and what may be done with one by
// registry/restart; this package only reads, writes and tells.
//
// Invariants:
//
//   - A template is written on live reads of the workload, its pods, and the configuration that it consents to, in the version
//     that was read; and of the template only annotations. A pod is deleted only if nothing runs in it, in the version that was
//     read.
//   - A pod that is a member of an etcd cluster is evicted, in the version that was read, on answers that all members gave in
//     the same look. One of a workload in a look.
//   - A workload that is due for several trust domains is written once, with everything that it is due for.
//   - What holds a restart up is recorded (RotationRecord of the kind Refusal, with the verb restart), so that the rotation shows
//     it wherever its blockers are shown. The record goes away with its cause.
//   - Where nothing is due nothing is read, and where something is, all five seconds at most.
//
// Goroutines: Run starts the workers, and ends when they have. One of them works on a namespace at a time. NamespaceChanged may
// be called from anywhere at any time.
package workload
