// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package nodes

// namespaces is not used here: Supported refuses this platform.
const namespaces = 0
