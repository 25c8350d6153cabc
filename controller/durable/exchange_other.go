// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package durable

import "errors"

// exchange is unsupported: only Linux has it. Nodes run Linux; other systems only run the tests.
func exchange(int, string, int, string) error { return errors.ErrUnsupported }
