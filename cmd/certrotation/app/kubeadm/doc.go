// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeadm is the command that prints what adopts the etcd of a control plane which kubeadm has set up. It reads two
// manifests on one of its nodes, and no key; registry/kubeadm makes the objects. It starts no goroutine.
package kubeadm
