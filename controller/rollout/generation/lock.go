// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockRetry is how often a lock that somebody holds is tried: an installation takes less than a second.
const lockRetry = 100 * time.Millisecond

// ErrBusy reports that another writer had the lock for as long as this one could wait.
var ErrBusy = errors.New("another installer, pruner or recovery is at work on this node")

// TryLock takes the lock that all who write to a node's disk share, for a rollout of that name, or fails with ErrBusy.
func TryLock(resourceDirectory, rollout string) (release func() error, err error) {
	root, err := os.OpenRoot(resourceDirectory)
	if err != nil {
		return nil, fmt.Errorf("lock the node: %w", err)
	}
	name := Layout{Name: rollout}.lockName()
	unlock, busy, err := tryLock(root, name)
	if busy && err == nil {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), root.Close())
	}
	return func() error { return errors.Join(unlock(), root.Close()) }, nil
}

// acquire waits for the lock until ctx ends.
func (n *Node) acquire(ctx context.Context) (release func() error, err error) {
	for {
		release, busy, err := n.lock()
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", n.layout.lockName(), err)
		}
		if !busy {
			return release, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrBusy, context.Cause(ctx))
		case <-time.After(lockRetry):
		}
	}
}

// tryLock locks the file of that name, which stays on the disk. The kernel gives the lock back when its holder ends.
func tryLock(root *os.Root, name string) (release func() error, busy bool, err error) {
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, fileMode)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil && !stillNamed(root, name, f) {
		err = syscall.EWOULDBLOCK
	}
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, true, f.Close()
	case err != nil:
		return nil, false, errors.Join(err, f.Close())
	}
	return f.Close, false, nil
}

// stillNamed tells whether the name is still that of f. If somebody has removed the file in between, a lock on it excludes
// nobody.
func stillNamed(root *os.Root, name string, f *os.File) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := root.Lstat(name)
	return err == nil && os.SameFile(held, named)
}
