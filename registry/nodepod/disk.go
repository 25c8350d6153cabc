// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Disk is the content of one node's disk as it was read. All paths are paths of the node.
type Disk struct {
	Layout
	// Manifest is what kubelet runs.
	Manifest Manifest
	// Directories ordered by revision.
	Directories []Directory
	// Leftovers are files and directories of an interrupted run.
	Leftovers []string
	// SetAside are directories that a recovery has moved out of the way.
	SetAside []string
	// NewestFile is the most recently modified file of the manifest and the generations.
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
	// Generation that it points at; undefined if there are defects.
	Generation int
	Defects    Defects
}

// Generation is one generation-NUMBER of a directory.
type Generation struct {
	// Revision of the directory that contains it.
	Revision int
	Number   int
	Path     string
	// Record is nil if it is unreadable.
	Record *Record
	// Files are the paths of the readable files, relative to the generation.
	Files []string
	GenerationContent
	// Defects are empty if the generation is sound and exactly as installed.
	Defects Defects
}

// ID names a generation on the command line: REVISION/NUMBER.
func (g *Generation) ID() string { return fmt.Sprintf("%d/%d", g.Revision, g.Number) }

// RecoveredFrom is the ID of the generation from which a recovery made this one, "" if an installer wrote it.
func (g *Generation) RecoveredFrom() string {
	if g.Record == nil {
		return ""
	}
	return g.Record.RecoveredFrom
}

// Defective reports whether a file, by its path relative to the generation, has a defect.
func (g *Generation) Defective(file string) bool { return g.Defects.At(path.Join(g.Path, file)) }

// Directory returns the directory of a revision, nil if there is none.
func (d *Disk) Directory(revision int) *Directory {
	for i := range d.Directories {
		if d.Directories[i].Revision == revision {
			return &d.Directories[i]
		}
	}
	return nil
}

// Generation returns the generation with a number, nil if there is none.
func (d *Directory) Generation(number int) *Generation {
	for i := range d.Generations {
		if d.Generations[i].Number == number {
			return &d.Generations[i]
		}
	}
	return nil
}

// Current returns the generation that the pointer points at, nil if there is none.
func (d *Directory) Current() *Generation {
	if len(d.Pointer.Defects) > 0 {
		return nil
	}
	return d.Generation(d.Pointer.Generation)
}

// Running returns what kubelet runs: the directory that the manifest mounts, and the generation in use there. Each is
// nil if the disk does not tell.
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

// Generations returns the generations of all directories, newest first: by number, then by the revision of their
// directory.
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

// NewestBeginning returns the latest time at which a certificate on the disk becomes valid, and its path. A clock
// before that time is wrong.
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
