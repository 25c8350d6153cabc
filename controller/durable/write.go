// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"certrotation.dev/registry/nodepod"
)

// Writer writes below one file system. After its first error it does nothing.
type Writer struct {
	FS FileSystem
	// Err is the first error.
	Err error
}

// Do runs act and records its error. It is for operations without a method below.
func (w *Writer) Do(what, name string, act func() error) {
	if w.Err != nil {
		return
	}
	if err := act(); err != nil {
		w.Err = fmt.Errorf("%s %s: %w", what, name, err)
	}
}

// Mkdir creates a directory.
func (w *Writer) Mkdir(name string) {
	w.Do("make directory", name, func() error { return w.FS.Mkdir(name) })
}

// MkdirAll creates a directory and its missing parents, and syncs their names.
func (w *Writer) MkdirAll(name string) {
	there, err := nodepod.IsDirectory(w.FS, name)
	w.Do("make directory", name, func() error { return err })
	if there || w.Err != nil {
		return
	}
	w.MkdirAll(path.Dir(name))
	w.Mkdir(name)
	w.Sync(path.Dir(name))
}

// Write writes a new file and syncs its data.
func (w *Writer) Write(name string, data []byte) {
	w.Do("write", name, func() error { return w.FS.WriteFile(name, data) })
	w.Do("sync", name, func() error { return w.FS.SyncFile(name) })
}

// Sync flushes the entries of a directory.
func (w *Writer) Sync(dir string) {
	w.Do("sync directory", dir, func() error { return w.FS.SyncDirectory(dir) })
}

// Rename replaces an existing target.
func (w *Writer) Rename(from, to string) {
	w.Do("rename to", to, func() error { return w.FS.Rename(from, to) })
}

// Tree writes and syncs a directory with files, which are keyed by their paths below it. No process may read the name
// dir yet.
func (w *Writer) Tree(dir string, files map[string][]byte) {
	w.Remove(dir)
	w.Mkdir(dir)
	made := map[string]bool{".": true}
	var mkdir func(parent string)
	mkdir = func(parent string) {
		if !made[parent] {
			mkdir(path.Dir(parent))
			w.Mkdir(path.Join(dir, parent))
			made[parent] = true
		}
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		mkdir(path.Dir(file))
		w.Write(path.Join(dir, file), files[file])
	}
	for _, parent := range slices.Backward(slices.Sorted(maps.Keys(made))) {
		w.Sync(path.Join(dir, parent))
	}
}

// File replaces the content of a file atomically and reports whether the content was different.
func (w *Writer) File(name string, data []byte) (changed bool) {
	dir := path.Dir(name)
	if old, err := nodepod.ReadFile(w.FS, name, nodepod.MaxFileBytes); err == nil && bytes.Equal(old, data) {
		if info, err := fs.Lstat(w.FS, name); err == nil && info.Mode() != nodepod.PlainMode {
			w.Chmod(name, nodepod.PlainMode)
		}
		// Its writer may have crashed before it synced.
		w.Do("sync", name, func() error { return w.FS.SyncFile(name) })
		w.Sync(dir)
		return false
	}
	w.Remove(nodepod.Staged(name))
	w.Write(nodepod.Staged(name), data)
	w.Rename(nodepod.Staged(name), name)
	w.Sync(dir)
	return true
}

// Link points a symbolic link at target atomically and reports whether it pointed elsewhere.
func (w *Writer) Link(target, name string) (changed bool) {
	dir := path.Dir(name)
	if old, err := fs.ReadLink(w.FS, name); err == nil && old == target {
		w.Sync(dir)
		return false
	}
	w.Remove(nodepod.Staged(name))
	w.Do("make link", nodepod.Staged(name), func() error { return w.FS.Symlink(target, nodepod.Staged(name)) })
	w.Sync(dir)
	w.Rename(nodepod.Staged(name), name)
	w.Sync(dir)
	return true
}

// Chmod changes the mode of a file or of a directory.
func (w *Writer) Chmod(name string, mode fs.FileMode) {
	w.Do("set the mode of", name, func() error { return w.FS.Chmod(name, mode) })
}

// Remove removes a file, a link, or a directory with its content. A missing name is no error.
func (w *Writer) Remove(name string) {
	info, err := fs.Lstat(w.FS, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && info.IsDir() {
		entries, err := fs.ReadDir(w.FS, name)
		w.Do("list", name, func() error { return err })
		for _, entry := range entries {
			w.Remove(path.Join(name, entry.Name()))
		}
	}
	w.Do("remove", name, func() error {
		if err := w.FS.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// Retire removes a directory so that under its name it is either complete or absent.
func (w *Writer) Retire(name string) {
	w.Rename(name, nodepod.Removed(name))
	w.Sync(path.Dir(name))
	w.Remove(nodepod.Removed(name))
	w.Sync(path.Dir(name))
}
