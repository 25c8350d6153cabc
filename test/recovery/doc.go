// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery tests the recovery of nodes whose certificates expired while they were off. It runs real etcd
// members and a real kube-apiserver, without kubelet: the tests run what the manifest on each disk says.
package recovery
