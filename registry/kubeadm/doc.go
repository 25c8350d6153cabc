// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeadm makes of the static pods that kubeadm has written on a control plane node what the preset kubeadm-etcd rolls
// out to all of them: templates of etcd and kube-apiserver, and the StaticPodClass that permits just these.
//
// Invariants:
//
//   - A template differs from the manifest in what follows from its being one: the name and address of the node are placeholders,
//     the certificates of etcd come from the directory of the revision, and etcd starts as a member of the cluster that exists.
//   - The class permits what the manifests have, and nothing besides. Both are judged together before they are returned.
//   - An etcd that kubeadm does not run on its nodes is refused.
//
// Everything is a pure function; no key is read. The package starts no goroutine.
package kubeadm
