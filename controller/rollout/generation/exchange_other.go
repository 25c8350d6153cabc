// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package generation

import (
	"errors"
	"fmt"
	"os"
)

// exchange is what only Linux offers; nodes run Linux, and other systems run the tests.
func exchange(parent *os.File, a, b string) error {
	return fmt.Errorf("exchange %s and %s in %s: %w", a, b, parent.Name(), errors.ErrUnsupported)
}
