// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration tests the built binary against a real control plane: etcd and kube-apiserver from bin/tools, and
// certrotation as processes of their own, reached as users reach them. Each test has a cluster of its own and waits
// for conditions, never for time. The processes are outside; inside, only TestEveryWrite has goroutines, which play its
// stories side by side behind proxies that inject faults, and end with it.
package integration
