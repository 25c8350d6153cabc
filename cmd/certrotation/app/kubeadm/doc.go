// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeadm is the subcommand kubeadm: it prints the objects that adopt the etcd of a kubeadm control plane. It
// reads two manifests on one control plane node, and no key; registry/kubeadm makes the objects. It starts no
// goroutine.
package kubeadm
