// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrBusy reports that an installer, a pruner or another recovery is at work.
var ErrBusy = errors.New("an installer, a pruner or another recovery is at work on this node")

// lockFile takes the lock that all who write on this node share. The kernel gives it back when its holder ends.
func lockFile(file string) (release func() error, err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return nil, fmt.Errorf("lock the node: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", file, err), f.Close())
	}
	return f.Close, nil
}
