// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cluster

// memoryDir returns "": real nodes need Linux.
func memoryDir() string { return "" }
