// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock keeps two commands from starting or stopping the same directory at the same time: the second one waits. The
// kernel drops the lock when its holder dies. Started processes do not inherit it.
func lock(ctx context.Context, dir string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("lock %s, which another command is using (%w): %w", dir, err, ctx.Err())
		}
	}
}
