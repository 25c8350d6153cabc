// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

// MakeUndumpable does nothing: other systems have no such call.
func MakeUndumpable() error { return nil }
