// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// MakeUndumpable disables core dumps and tracing by the same user. The limit on core dumps also applies to child processes.
func MakeUndumpable() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make the process not dumpable: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("allow no core dumps: %w", err)
	}
	return nil
}
