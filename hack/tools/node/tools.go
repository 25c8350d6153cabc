// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools keeps the commands that hack/build-tools.sh builds in the module graph.
package tools

import (
	_ "github.com/containerd/containerd/v2/cmd/containerd"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
	_ "github.com/containerd/containerd/v2/cmd/ctr"
	_ "github.com/containernetworking/plugins/plugins/ipam/host-local"
	_ "github.com/containernetworking/plugins/plugins/main/bridge"
)
