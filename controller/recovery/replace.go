// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// name converts an absolute path to a name in the node's file system. Writing by such names ensures that no link is
// followed on any part of the path.
func name(file string) string { return strings.TrimPrefix(filepath.Clean(file), "/") }

func (r *recovery) writer() *durable.Writer { return &durable.Writer{FS: r.root} }

func (r *recovery) exists(file string) bool {
	_, err := r.root.Lstat(name(file))
	return err == nil
}

func (r *recovery) pointAt(directory *nodepod.Directory, number int) error {
	w := r.writer()
	r.setAside(w, directory.Pointer.Path, filepath.Base(directory.Path))
	w.Link(nodepod.GenerationName(number), name(directory.Pointer.Path))
	if w.Err != nil {
		return fmt.Errorf("point %s at generation %d: %w", directory.Pointer.Path, number, w.Err)
	}
	return nil
}

// installManifest copies a directory's manifest to where kubelet reads it.
func (r *recovery) installManifest(directory *nodepod.Directory) error {
	data, err := nodepod.ReadFile(r.root, name(filepath.Join(directory.Path, r.ManifestName())), nodepod.MaxManifestBytes)
	if err != nil {
		return err
	}
	w := r.writer()
	r.setAside(w, r.Manifest(), "manifests")
	w.File(name(r.Manifest()), data)
	if w.Err != nil {
		return fmt.Errorf("install the manifest of revision %d: %w", directory.Revision, w.Err)
	}
	return nil
}

// setAside keeps a copy of a file or link that a rename will replace, so that the original is there at every moment.
// Anything else is moved.
func (r *recovery) setAside(w *durable.Writer, file, under string) {
	info, err := r.root.Lstat(name(file))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	aside := name(filepath.Join(r.asideDirectory(), under, filepath.Base(file)))
	w.Do("set aside", file, func() error { return err })
	w.MkdirAll(path.Dir(aside))
	switch {
	case w.Err != nil:
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := r.root.ReadLink(name(file))
		w.Do("set aside", file, func() error { return err })
		w.Link(target, aside)
	case info.Mode().IsRegular():
		data, err := nodepod.ReadFile(r.root, name(file), nodepod.MaxManifestBytes)
		w.Do("set aside", file, func() error { return err })
		w.File(aside, data)
	default:
		w.Rename(name(file), aside)
		w.Sync(path.Dir(aside))
		w.Sync(path.Dir(name(file)))
	}
}

// installDirectory puts a revision's directory in place as a whole. It exchanges an existing one, which no process
// reads because etcd is stopped.
func (r *recovery) installDirectory(dir string, tree map[string][]byte, number int) error {
	w := r.writer()
	if !r.exists(dir) {
		makeTree(w, dir, tree, nodepod.GenerationName(number))
		return w.Err
	}
	aside := filepath.Join(r.asideDirectory(), filepath.Base(dir))
	w.MkdirAll(name(filepath.Dir(aside)))
	makeTree(w, aside, tree, nodepod.GenerationName(number))
	exchange(w, name(aside), name(dir))
	return w.Err
}

// makeTree creates a directory that appears as a whole, with a pointer unless pointer is empty.
func makeTree(w *durable.Writer, dir string, files map[string][]byte, pointer string) {
	staged := nodepod.Staged(name(dir))
	w.Tree(staged, files)
	if pointer != "" {
		w.Link(pointer, path.Join(staged, nodepod.PointerName))
	}
	w.Rename(staged, name(dir))
	w.Sync(path.Dir(name(dir)))
}

// exchange swaps two names. If the file system cannot do that atomically, it uses three renames, with a moment
// without b.
func exchange(w *durable.Writer, a, b string) {
	w.Do("exchange "+a+" and", b, func() error { return w.FS.Exchange(a, b) })
	if errors.Is(w.Err, errors.ErrUnsupported) {
		w.Err = nil
		between := nodepod.Staged(a)
		w.Rename(b, between)
		w.Rename(a, b)
		w.Rename(between, a)
	}
	w.Sync(path.Dir(a))
	w.Sync(path.Dir(b))
}
