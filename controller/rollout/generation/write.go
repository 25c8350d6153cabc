// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// writer writes below one file system. After its first error it does nothing any more.
type writer struct {
	fs  fileSystem
	err error
}

func (w *writer) do(what, name string, act func() error) {
	if w.err != nil {
		return
	}
	if err := act(); err != nil {
		w.err = fmt.Errorf("%s %s: %w", what, name, err)
	}
}

func (w *writer) mkdir(name string) {
	w.do("make directory", name, func() error { return w.fs.Mkdir(name) })
}

// write writes a new file and has its data last.
func (w *writer) write(name string, data []byte) {
	w.do("write", name, func() error { return w.fs.WriteFile(name, data) })
	w.do("sync", name, func() error { return w.fs.SyncFile(name) })
}

func (w *writer) sync(dir string) {
	w.do("sync directory", dir, func() error { return w.fs.SyncDirectory(dir) })
}

func (w *writer) rename(from, to string) {
	w.do("rename to", to, func() error { return w.fs.Rename(from, to) })
}

// tree writes a generation under a name that nobody reads yet; when it returns, all of it lasts. The record comes last.
func (w *writer) tree(dir string, files map[string][]byte, record []byte) {
	w.mkdir(dir)
	made := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		object := path.Dir(file)
		for _, parent := range []string{path.Dir(object), object} {
			if !made[parent] {
				w.mkdir(path.Join(dir, parent))
				made[parent] = true
			}
		}
		w.write(path.Join(dir, file), files[file])
	}
	for _, parent := range slices.Backward(slices.Sorted(maps.Keys(made))) {
		w.sync(path.Join(dir, parent))
	}
	w.write(path.Join(dir, RecordName), record)
	w.sync(dir)
}

// file gives a file that content, at once, and tells whether it had another one.
func (w *writer) file(name string, data []byte) (changed bool) {
	dir := path.Dir(name)
	old, err := w.fs.ReadFile(name, maxManifestBytes)
	if err == nil && bytes.Equal(old, data) {
		if mode, err := w.fs.Mode(name); err == nil && mode != fileMode {
			w.do("set the mode of", name, func() error { return w.fs.Chmod(name, fileMode) })
		}
		// Whoever wrote it may have ended before it lasted.
		w.do("sync", name, func() error { return w.fs.SyncFile(name) })
		w.sync(dir)
		return false
	}
	w.write(staged(name), data)
	w.rename(staged(name), name)
	w.sync(dir)
	return true
}

// link has a symbolic link point at target, at once, and tells whether it pointed elsewhere.
func (w *writer) link(target, name string) (changed bool) {
	dir := path.Dir(name)
	if mode, err := w.fs.Mode(name); err == nil && mode.Type() == fs.ModeSymlink {
		if old, err := w.fs.ReadLink(name); err == nil && old == target {
			w.sync(dir)
			return false
		}
	}
	w.do("make link", staged(name), func() error { return w.fs.Symlink(target, staged(name)) })
	w.sync(dir)
	w.rename(staged(name), name)
	w.sync(dir)
	return true
}

// remove removes a file, a link, or a directory with all that is in it. It follows no link.
func (w *writer) remove(name string) {
	mode, err := w.fs.Mode(name)
	if notExist(err) {
		return
	}
	if err == nil && mode.IsDir() {
		entries, err := w.fs.ReadDirectory(name)
		w.do("list", name, func() error { return err })
		for _, entry := range entries {
			w.remove(path.Join(name, entry.Name()))
		}
	}
	w.do("remove", name, func() error {
		if err := w.fs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// retire removes a directory so that it is there as a whole, or not at all.
func (w *writer) retire(name string) {
	w.rename(name, removed(name))
	w.sync(path.Dir(name))
	w.remove(removed(name))
	w.sync(path.Dir(name))
}
