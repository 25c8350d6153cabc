// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stacked starts a control plane with stacked etcd: the members of etcd are static pods on nodes of package
// nodes. The kube-apiservers keep their data in that etcd, with the client leaf and the trust that certrotation
// rotates. It runs the sample manifests/samples/etcd-nodes.
//
// It starts as a person would do it:
//
//  1. The nodes start: kubelet and containerd, no API server.
//  2. `certrotation render` makes every certificate and the files of each node from one file. They are copied to the
//     nodes, and etcd starts.
//  3. The supervisor (package supervisor) starts two kube-apiservers with the rendered client leaf, behind a balancer.
//  4. The rendered manifests are applied, once. certrotation is installed, as processes of this machine or as pods of
//     the nodes (Config.Pods). From then on it owns the rotations.
//
// The directory holds the directory of package cluster, and besides
//
//	nodes/        the nodes (package nodes)
//	images/       the images of etcd and certrotation
//	rendered/     the output of `certrotation render`
//	supervisor/   the kube-apiservers
//	applied       marks that the rendered manifests have been applied
//
// Invariants: the rendered manifests are applied once, because the first rotation outdates them. With Config.Detach
// every step is repeatable: a second start adopts what runs and starts the rest.
//
// Only the processes run in the background (see package cluster).
package stacked
