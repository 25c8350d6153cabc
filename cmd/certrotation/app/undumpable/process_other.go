// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package undumpable

// Process does nothing: other systems have no such call.
func Process() error { return nil }
