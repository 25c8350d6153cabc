// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func threadSeconds() (float64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0, fmt.Errorf("read the CPU time of the thread: %w", err)
	}
	return float64(t.Sec) + float64(t.Nsec)/1e9, nil
}
