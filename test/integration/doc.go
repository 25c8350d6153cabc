// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package integration tests the built binary against a real control plane: etcd and kube-apiserver from bin/tools.
// bin/certrotation runs in processes of its own, and the tests reach it as users do.
//
// Tests share three control planes (planes_test.go), each in namespaces of its own, and run in parallel. They wait
// for conditions, never for time. TestEveryWrite has a controller for each of its stories, behind a proxy that
// injects faults.
package integration
