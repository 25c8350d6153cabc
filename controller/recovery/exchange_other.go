// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package recovery

// exchange gives each of two paths what is at the other, with a moment without b.
func exchange(a, b string) error { return exchangeInSteps(a, b) }
