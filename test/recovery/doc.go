// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery holds the stories of nodes whose certificates have expired while they were off, played with real etcd
// members and a real kube-apiserver, without kubelet: the tests run what the manifest on each disk says.
package recovery
