// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockRetry is the interval between attempts on a held lock: an installation takes less than a second.
const lockRetry = 100 * time.Millisecond

// ErrBusy reports that another writer held the lock for as long as this one could wait.
var ErrBusy = errors.New("another installer, pruner or recovery is at work on this node")

// Lock retries TryLock until it succeeds or ctx ends.
func Lock(ctx context.Context, fsys FileSystem, name string) (release func() error, err error) {
	for {
		release, err := fsys.TryLock(name)
		if !errors.Is(err, ErrBusy) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
}

// TryLock locks the file, which stays on the disk. The kernel releases the lock when its holder exits.
func (d Disk) TryLock(name string) (release func() error, err error) {
	f, err := d.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("lock the node: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || err == nil && !d.stillNamed(name, f) {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
	}
	return f.Close, nil
}

// stillNamed reports whether name still refers to f. A lock on a file that was removed in the meantime excludes no
// other writer.
func (d Disk) stillNamed(name string, f *os.File) bool {
	var held unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &held); err != nil {
		return false
	}
	named, err := fs.Lstat(d, name)
	if err != nil {
		return false
	}
	is, ok := named.Sys().(*unix.Stat_t)
	return ok && is.Dev == held.Dev && is.Ino == held.Ino
}
