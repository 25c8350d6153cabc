// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange gives each of two paths what is at the other. Where the file system cannot do that in one step it is done in
// three, with a moment without b.
func exchange(a, b string) error {
	err := at(a, func(aDirectory int, aBase string) error {
		return at(b, func(bDirectory int, bBase string) error {
			return unix.Renameat2(aDirectory, aBase, bDirectory, bBase, unix.RENAME_EXCHANGE)
		})
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return exchangeInSteps(a, b)
	}
	return err
}
