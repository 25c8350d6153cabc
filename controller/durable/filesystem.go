// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package durable

import "io/fs"

// FileSystem is one directory tree, as a process sees it before a loss of power. Names are relative to its root and use
// slashes; "." is the root. No symbolic link is followed. Nothing but a Sync makes anything last.
type FileSystem interface {
	// Open, ReadDir, Lstat and ReadLink read.
	fs.ReadDirFS
	fs.ReadLinkFS

	// Mkdir makes a directory of mode 0700, whatever the umask.
	Mkdir(name string) error
	// WriteFile makes a new file of mode 0600, whatever the umask. It fails if there is something of that name.
	WriteFile(name string, data []byte) error
	// SyncFile makes the data of a file last, SyncDirectory the names in a directory.
	SyncFile(name string) error
	SyncDirectory(name string) error
	// Rename replaces what has the new name, at once.
	Rename(from, to string) error
	// Exchange swaps two names, at once. The error is errors.ErrUnsupported where the system cannot do that.
	Exchange(a, b string) error
	Symlink(target, name string) error
	// Remove removes a file, a link or an empty directory.
	Remove(name string) error
	Chmod(name string, mode fs.FileMode) error
	// TryLock takes the lock on a file, which it makes and which stays, or fails with ErrBusy.
	TryLock(name string) (release func() error, err error)
}
