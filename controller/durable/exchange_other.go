// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package durable

import "errors"

// exchange is what only Linux offers; nodes run Linux, and other systems run the tests.
func exchange(int, string, int, string) error { return errors.ErrUnsupported }
