// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stacked starts a control plane with stacked etcd: the members of etcd are static pods on nodes of package nodes,
// and the kube-apiservers keep their data in that very etcd, with the client leaf and the trust that certrotation rotates.
// It is the sample manifests/samples/etcd-nodes, running.
//
// How it comes up, as a person would do it:
//
//  1. The nodes start: kubelet and containerd, no API server.
//  2. `certrotation render` makes every certificate and the files of each node from one file; they are copied to the nodes,
//     and etcd starts.
//  3. The supervisor (package supervisor) starts two kube-apiservers with the rendered client leaf, behind a balancer.
//  4. The rendered manifests are applied, once, and certrotation is installed, as processes of this machine or as pods of the nodes
//     (Config.Pods). From then on it owns the rotations.
//
// The directory holds that of package cluster, and besides
//
//	nodes/        the nodes (package nodes)
//	images/       the images of etcd and certrotation
//	rendered/     what `certrotation render` made
//	supervisor/   the kube-apiservers
//	applied       marks that the rendered manifests have been applied
//
// Invariants: what was rendered is applied once, since it is out of date after the first rotation. With Config.Detach every
// step is repeatable; a second start takes over what runs and starts what does not.
//
// Nothing runs in the background but the processes (see package cluster).
package stacked
