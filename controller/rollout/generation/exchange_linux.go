// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func exchange(parent *os.File, a, b string) error {
	fd := int(parent.Fd())
	if err := unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("exchange %s and %s in %s: %w", a, b, parent.Name(), err)
	}
	return nil
}
