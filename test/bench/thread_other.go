// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "errors"

func threadSeconds() (float64, error) {
	return 0, errors.New("the benchmark measures CPU time on Linux only")
}
