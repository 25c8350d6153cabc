// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func exchange(aParent int, a string, bParent int, b string) error {
	err := unix.Renameat2(aParent, a, bParent, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return err
}
