// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package durable

import "io/fs"

// FileSystem is one directory tree. Names are slash-separated and relative to its root; "." is the root. It follows
// no symbolic link. Only SyncFile and SyncDirectory make changes survive a loss of power.
type FileSystem interface {
	fs.ReadDirFS
	fs.ReadLinkFS

	// Mkdir creates a directory of mode 0700 under every umask.
	Mkdir(name string) error
	// WriteFile creates a file of mode 0600 under every umask. It fails if the name exists.
	WriteFile(name string, data []byte) error
	// SyncFile flushes the data of a file, SyncDirectory the entries of a directory.
	SyncFile(name string) error
	SyncDirectory(name string) error
	// Rename atomically replaces an existing target.
	Rename(from, to string) error
	// Exchange swaps two names atomically. It returns errors.ErrUnsupported where the system cannot do that.
	Exchange(a, b string) error
	Symlink(target, name string) error
	// Remove removes a file, a link or an empty directory.
	Remove(name string) error
	Chmod(name string, mode fs.FileMode) error
	// TryLock locks a file, which it creates and never removes. It returns ErrBusy if another writer holds the lock.
	TryLock(name string) (release func() error, err error)
}
