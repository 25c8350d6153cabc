// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package nodes

// namespaces does not matter here: Supported refuses.
const namespaces = 0
