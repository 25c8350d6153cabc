// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/diagnosis"
)

// ReadDisk reads what is on the disk of this node. Whatever is wrong with it is part of the result; it fails only if the
// directories themselves cannot be read.
func ReadDisk(l Layout) (*diagnosis.Disk, error) {
	d := &diagnosis.Disk{Name: l.Name, ResourceDirectory: l.ResourceDirectory}
	if _, err := os.ReadDir(l.ManifestDirectory); err != nil {
		return nil, fmt.Errorf("read the directory of the manifests: %w", err)
	}
	entries, err := os.ReadDir(l.ResourceDirectory)
	if err != nil {
		return nil, fmt.Errorf("read the directory of the static pod's resources: %w", err)
	}
	d.Manifest = readManifest(l.manifest(), l.Name)
	for _, entry := range entries {
		file := filepath.Join(l.ResourceDirectory, entry.Name())
		revision, ok := revisionOf(entry.Name(), l.Name)
		switch {
		case ok && entry.IsDir():
			d.Directories = append(d.Directories, readDirectory(l, d, revision, file))
		case strings.HasPrefix(entry.Name(), l.Name+setAsideInfix):
			d.SetAside = append(d.SetAside, file)
		case strings.HasPrefix(entry.Name(), "."):
			d.Leftovers = append(d.Leftovers, file)
		}
	}
	slices.SortFunc(d.Directories, func(a, b diagnosis.Directory) int { return int(a.Revision - b.Revision) })
	d.Leftovers = append(d.Leftovers, stagedManifests(l)...)
	noteTime(d, l.manifest())
	return d, nil
}

// stagedManifests are the dot files beside the manifest that an interrupted replacement has left.
func stagedManifests(l Layout) []string {
	// The pattern is well-formed, so this does not fail.
	found, _ := filepath.Glob(filepath.Join(l.ManifestDirectory, ".*"))
	return slices.DeleteFunc(found, func(file string) bool { return !strings.Contains(filepath.Base(file), l.manifestName()) })
}

func readDirectory(l Layout, d *diagnosis.Disk, revision int64, dir string) diagnosis.Directory {
	out := diagnosis.Directory{Revision: revision, Path: dir}
	if info, err := os.Stat(dir); err == nil {
		out.TooOpen = tooOpen(info)
	}
	out.Manifest = readManifest(filepath.Join(dir, l.manifestName()), l.Name)
	out.Pointer = readPointer(dir)
	// What cannot be listed has no generations, which is what the findings then say.
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		file := filepath.Join(dir, entry.Name())
		text, isGeneration := strings.CutPrefix(entry.Name(), generation.Prefix)
		n, ok := number(text)
		switch {
		case isGeneration && ok && entry.IsDir():
			out.Generations = append(out.Generations, readGeneration(d, revision, n, file))
		case strings.HasPrefix(entry.Name(), "."):
			d.Leftovers = append(d.Leftovers, file)
		}
	}
	slices.SortFunc(out.Generations, func(a, b diagnosis.Generation) int { return int(a.Number - b.Number) })
	return out
}

// readPointer accepts what the installer writes and nothing else: the name of a generation in the same directory.
func readPointer(dir string) diagnosis.Pointer {
	file := filepath.Join(dir, generation.PointerName)
	info, err := os.Lstat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return diagnosis.Pointer{}
	}
	p := diagnosis.Pointer{Present: true}
	switch {
	case err != nil:
		p.Problem = err.Error()
		return p
	case info.Mode().Type() != fs.ModeSymlink:
		p.Problem = "it is no symbolic link"
		return p
	}
	if p.Target, err = os.Readlink(file); err != nil {
		p.Problem = err.Error()
		return p
	}
	text, isGeneration := strings.CutPrefix(p.Target, generation.Prefix)
	n, ok := number(text)
	switch {
	case filepath.IsAbs(p.Target) || strings.Contains(p.Target, "/"):
		p.Problem = "that is outside of its directory"
	case !isGeneration || !ok:
		p.Problem = "that is no generation"
	default:
		p.Generation = n
		if info, err := os.Stat(filepath.Join(dir, p.Target)); err != nil || !info.IsDir() {
			p.Problem = "there is no such directory"
		}
	}
	return p
}

func noteTime(d *diagnosis.Disk, file string) {
	if info, err := os.Lstat(file); err == nil && info.ModTime().After(d.NewestFile.Time) {
		d.NewestFile = diagnosis.FileTime{Path: file, Time: info.ModTime()}
	}
}
