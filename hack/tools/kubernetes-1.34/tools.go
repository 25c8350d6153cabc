// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools keeps the commands that hack/build-tools.sh builds of this Kubernetes in the module graph.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
