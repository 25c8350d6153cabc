// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedisk

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Disk is what was read of one node. All paths are those of the node.
type Disk struct {
	Layout
	// Manifest is what kubelet runs.
	Manifest Manifest
	// Directories ordered by revision.
	Directories []Directory
	// Leftovers are files and directories that an interrupted run has left.
	Leftovers []string
	// SetAside are directories that a recovery has put out of the way.
	SetAside []string
	// NewestFile is the latest modification time of the manifest and of the generations, and where.
	NewestFile FileTime
}

// FileTime is when a file was modified.
type FileTime struct {
	Path string
	Time time.Time
}

// Directory is one NAME-pod-REVISION.
type Directory struct {
	Revision int
	Path     string
	// Defects of the directory itself.
	Defects Defects
	Pointer Pointer
	// Manifest is the copy of the manifest of this revision.
	Manifest Manifest
	// Generations ordered by number.
	Generations []Generation
}

// Pointer is the link `current`.
type Pointer struct {
	Path string
	// Generation that it points at; meaningless if it has defects.
	Generation int
	Defects    Defects
}

// Generation is one generation-NUMBER of a directory.
type Generation struct {
	// Revision of the directory that it is in.
	Revision int
	Number   int
	Path     string
	// Record is nil if it cannot be read.
	Record *Record
	// Files are the paths, relative to the generation, of those that could be read.
	Files []string
	Content
	// Defects are empty if the generation is what was installed, and sound.
	Defects Defects
}

// ID names a generation on the command line: REVISION/NUMBER.
func (g *Generation) ID() string { return fmt.Sprintf("%d/%d", g.Revision, g.Number) }

// RecoveredFrom is the ID of the generation that a recovery made this one from, "" if an installer brought it.
func (g *Generation) RecoveredFrom() string {
	if g.Record == nil {
		return ""
	}
	return g.Record.RecoveredFrom
}

// Defective tells whether something is wrong with a file, by its path relative to the generation.
func (g *Generation) Defective(file string) bool { return g.Defects.At(path.Join(g.Path, file)) }

// Directory finds a directory by its revision, nil if there is none.
func (d *Disk) Directory(revision int) *Directory {
	for i := range d.Directories {
		if d.Directories[i].Revision == revision {
			return &d.Directories[i]
		}
	}
	return nil
}

// Generation finds a generation by its number, nil if there is none.
func (d *Directory) Generation(number int) *Generation {
	for i := range d.Generations {
		if d.Generations[i].Number == number {
			return &d.Generations[i]
		}
	}
	return nil
}

// Current is the generation that the pointer points at, nil if there is none.
func (d *Directory) Current() *Generation {
	if len(d.Pointer.Defects) > 0 {
		return nil
	}
	return d.Generation(d.Pointer.Generation)
}

// Running is what kubelet runs: the directory that the manifest mounts and the generation in use there; nil where the
// disk does not say.
func (d *Disk) Running() (*Directory, *Generation) {
	if !d.Manifest.Usable() || len(d.Manifest.Mounts) != 1 {
		return nil, nil
	}
	directory := d.Directory(d.Manifest.Mounts[0])
	if directory == nil {
		return nil, nil
	}
	return directory, directory.Current()
}

// Generations of all directories, the newest first: by number, then by the revision of their directory.
func (d *Disk) Generations() []*Generation {
	var all []*Generation
	for i := range d.Directories {
		for j := range d.Directories[i].Generations {
			all = append(all, &d.Directories[i].Generations[j])
		}
	}
	slices.SortFunc(all, func(a, b *Generation) int {
		return cmp.Or(b.Number-a.Number, b.Revision-a.Revision)
	})
	return all
}

// NewestBeginning is the latest moment at which a certificate on the disk becomes valid, and where it is: a clock that says
// less is wrong.
func (d *Disk) NewestBeginning() (time.Time, string) {
	var newest time.Time
	var where string
	for _, g := range d.Generations() {
		for i := range g.Pairs {
			if c := g.Pairs[i].Certificate; c != nil && c.NotBefore.After(newest) {
				newest, where = c.NotBefore, filepath.Join(g.Path, g.Pairs[i].Cert)
			}
		}
		for i := range g.Bundles {
			for _, ca := range g.Bundles[i].Anchors {
				if ca.NotBefore.After(newest) {
					newest, where = ca.NotBefore, filepath.Join(g.Path, g.Bundles[i].Path)
				}
			}
		}
	}
	return newest, where
}
