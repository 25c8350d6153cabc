// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeadm converts the static pods that kubeadm wrote on a control plane node. The preset kubeadm-etcd rolls
// the result out to all such nodes. It makes templates of etcd and kube-apiserver, and the StaticPodClass that
// permits just these.
//
// Invariants:
//
//   - A template differs from its manifest only where it must. Name and address of the node are placeholders,
//     etcd's certificates come from the directory of the revision, and etcd joins the existing cluster.
//   - The class permits only what the manifests have. Adopt checks both together before it returns them.
//   - An etcd that kubeadm does not run on its nodes is refused.
//
// All functions are pure; no key is read. The package starts no goroutine.
package kubeadm
