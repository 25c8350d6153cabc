// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import "io/fs"

// fileSystem is one directory tree, as a process sees it before a loss of power. Names are relative to its root and use
// slashes; "." is the root. Nothing but a Sync makes anything last.
type fileSystem interface {
	// Mkdir makes a directory of mode 0700, whatever the umask.
	Mkdir(name string) error
	// WriteFile makes a new file of mode 0600, whatever the umask. It fails if there is something of that name.
	WriteFile(name string, data []byte) error
	// SyncFile makes the data of a file last, SyncDirectory the names in a directory.
	SyncFile(name string) error
	SyncDirectory(name string) error
	// Rename replaces what has the new name, at once.
	Rename(from, to string) error
	// Exchange swaps two names of one directory, at once.
	Exchange(a, b string) error
	Symlink(target, name string) error
	// Remove removes a file, a link or an empty directory.
	Remove(name string) error
	Chmod(name string, mode fs.FileMode) error

	// ReadFile reads a regular file of at most limit bytes. It follows no link.
	ReadFile(name string, limit int64) ([]byte, error)
	ReadDirectory(name string) ([]fs.DirEntry, error)
	ReadLink(name string) (string, error)
	// Mode is that of name itself, which may be a link.
	Mode(name string) (fs.FileMode, error)
}

const (
	fileMode      fs.FileMode = 0o600
	directoryMode fs.FileMode = 0o700
)
