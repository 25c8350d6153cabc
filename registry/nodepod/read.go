// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNotInstalled reports a node without a manifest of this static pod.
var ErrNotInstalled = errors.New("the static pod is not installed on this node")

// Installed is what kubelet's manifest and the pointer in its directory name.
type Installed struct {
	Manifest   Manifest
	Generation Generation
}

// ReadInstalled returns what the node runs at the next start of the static pod. It fails unless the installer wrote
// it and it has no defect. The error is ErrNotInstalled, or wraps each Defect.
func (l Layout) ReadInstalled(resources, manifests fs.FS) (*Installed, error) {
	manifest := l.ReadManifest(manifests, ".")
	if manifest.Defects.Has(ManifestMissing) {
		return nil, fmt.Errorf("%w: %w", ErrNotInstalled, manifest.Defects.Err())
	}
	if !manifest.FromInstaller() {
		return nil, fmt.Errorf("the installer has not made it: %w", manifest.Defects.Err())
	}
	dir := l.DirectoryName(manifest.Revision)
	if ok, err := IsDirectory(resources, dir); err != nil || !ok {
		return nil, Defect{Reason: DirectoryMissing, Path: path.Join(l.ResourceDirectory, dir), Message: "the manifest mounts it, and it is not there"}
	}
	pointer := l.ReadPointer(resources, dir)
	if err := pointer.Defects.Err(); err != nil {
		return nil, err
	}
	g := l.ReadGeneration(resources, path.Join(dir, GenerationName(pointer.Generation)), pointer.Generation)
	if err := g.Defects.Err(); err != nil {
		return nil, err
	}
	return &Installed{Manifest: manifest, Generation: *g}, nil
}

// ReadDisk reads everything that belongs to the static pod. Defects are part of the result. It fails only if the
// directories themselves are unreadable.
func (l Layout) ReadDisk(resources, manifests fs.FS) (*Disk, error) {
	d := &Disk{Layout: l}
	entries, err := fs.ReadDir(manifests, ".")
	if err != nil {
		return nil, fmt.Errorf("read the directory of the manifests: %w", err)
	}
	for _, entry := range entries {
		for _, pod := range l.Pods() {
			if entry.Name() == Staged(pod.ManifestName()) {
				d.Leftovers = append(d.Leftovers, filepath.Join(l.ManifestDirectory, entry.Name()))
			}
		}
	}
	if entries, err = fs.ReadDir(resources, "."); err != nil {
		return nil, fmt.Errorf("read the directory of the static pod's resources: %w", err)
	}
	d.Manifest = l.ReadManifest(manifests, ".")
	d.noteTime(manifests, l.ManifestName(), l.Manifest())
	for _, entry := range entries {
		file := filepath.Join(l.ResourceDirectory, entry.Name())
		revision, _, ok := l.ParseDirectoryName(entry.Name())
		switch {
		case ok && entry.IsDir():
			d.readDirectory(resources, revision)
		case strings.HasPrefix(entry.Name(), l.SetAsideName("")):
			d.SetAside = append(d.SetAside, file)
		case l.IsLeftover(entry.Name()):
			d.Leftovers = append(d.Leftovers, file)
		}
	}
	slices.SortFunc(d.Directories, func(a, b Directory) int { return a.Revision - b.Revision })
	return d, nil
}

func (d *Disk) readDirectory(resources fs.FS, revision int) {
	name := d.DirectoryName(revision)
	out := Directory{Revision: revision, Path: filepath.Join(d.ResourceDirectory, name)}
	checkMode(&out.Defects, resources, name, out.Path, DirectoryMode)
	out.Manifest = d.ReadManifest(resources, name)
	out.Pointer = d.ReadPointer(resources, name)
	// A directory that cannot be listed has no generations; the defects of its pointer report that.
	entries, _ := fs.ReadDir(resources, name)
	for _, entry := range entries {
		n, ok := ParseGenerationName(entry.Name())
		switch file := path.Join(name, entry.Name()); {
		case ok && entry.IsDir():
			out.Generations = append(out.Generations, *d.ReadGeneration(resources, file, n))
			d.noteTimes(resources, file)
		case IsLeftover(entry.Name()):
			d.Leftovers = append(d.Leftovers, filepath.Join(out.Path, entry.Name()))
		}
	}
	slices.SortFunc(out.Generations, func(a, b Generation) int { return a.Number - b.Number })
	d.Directories = append(d.Directories, out)
}

func (d *Disk) noteTimes(resources fs.FS, dir string) {
	// The function returns no error: an unreadable file is a defect of the generation.
	_ = fs.WalkDir(resources, dir, func(name string, _ fs.DirEntry, _ error) error {
		d.noteTime(resources, name, filepath.Join(d.ResourceDirectory, name))
		return nil
	})
}

func (d *Disk) noteTime(fsys fs.FS, name, file string) {
	if info, err := fs.Lstat(fsys, name); err == nil && info.ModTime().After(d.NewestFile.Time) {
		d.NewestFile = FileTime{Path: file, Time: info.ModTime()}
	}
}

// ReadPointer accepts only what the installer writes: the name of a generation in the same directory.
func (l Layout) ReadPointer(resources fs.FS, dir string) Pointer {
	name := path.Join(dir, PointerName)
	p := Pointer{Path: filepath.Join(l.ResourceDirectory, name)}
	info, err := fs.Lstat(resources, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Defects.Add(PointerMissing, p.Path, "there is no pointer to a generation")
		return p
	case err != nil:
		p.Defects.addUnseen(p.Path, err)
		return p
	case info.Mode().Type() != fs.ModeSymlink:
		p.Defects.Add(PointerBroken, p.Path, "it is no symbolic link: %v", info.Mode())
		return p
	}
	target, err := fs.ReadLink(resources, name)
	if err != nil {
		p.Defects.addUnread(p.Path, err)
		return p
	}
	n, ok := ParseGenerationName(target)
	if !ok {
		p.Defects.Add(PointerBroken, p.Path, "it points at %q, which is no generation of its own directory", target)
		return p
	}
	p.Generation = n
	if ok, err := IsDirectory(resources, path.Join(dir, target)); err != nil || !ok {
		p.Defects.Add(PointerBroken, p.Path, "it points at %q: there is no such directory", target)
	}
	return p
}

// IsDirectory reports whether there is a directory of that name that is not a link. Anything else under that name is
// an error.
func IsDirectory(fsys fs.FS, name string) (bool, error) {
	info, err := fs.Lstat(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look at %s: %w", name, err)
	case !info.IsDir():
		return false, fmt.Errorf("%s is no directory (%v): move it away", name, info.Mode())
	}
	return true, nil
}

// ReadFile reads a regular file of at most limit bytes.
func ReadFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, nil
}
