// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"certrotation.dev/registry/pki"
)

// Modes of everything that is installed.
const (
	PlainMode     fs.FileMode = 0o600
	DirectoryMode             = fs.ModeDir | 0o700
)

// MaxFileBytes bounds each file of a generation.
const MaxFileBytes = max(pki.MaxPEMBytes, maxRecordBytes)

// depth of files in a generation: kind/object/key.
const depth = 2

type generationReader struct {
	fs    fs.FS
	dir   string
	g     *Generation
	files map[string][]byte
}

// ReadGeneration reads a generation. dir is its path below the resource directory.
func (l Layout) ReadGeneration(resources fs.FS, dir string, number int) *Generation {
	revision, _, _ := l.ParseDirectoryName(path.Base(path.Dir(dir)))
	r := &generationReader{
		fs: resources, dir: dir, files: map[string][]byte{},
		g: &Generation{Revision: revision, Number: number, Path: filepath.Join(l.ResourceDirectory, dir)},
	}
	r.checkMode(".", DirectoryMode)
	r.walk(".", 0)
	r.compareRecord()
	r.g.Files = slices.Sorted(maps.Keys(r.files))
	content, defects := ParseContent(r.files)
	for _, d := range defects {
		r.add(d.Reason, d.Path, "%s", d.Message)
	}
	r.g.GenerationContent = content
	return r.g
}

func (r *generationReader) add(reason Reason, name, format string, args ...any) {
	r.g.Defects.Add(reason, filepath.Join(r.g.Path, name), format, args...)
}

func (r *generationReader) checkMode(name string, want fs.FileMode) bool {
	return checkMode(&r.g.Defects, r.fs, path.Join(r.dir, name), filepath.Join(r.g.Path, name), want)
}

// checkMode reports whether a file of the wanted type exists. It adds a defect if not, or if the mode differs.
func checkMode(defects *Defects, fsys fs.FS, name, file string, want fs.FileMode) bool {
	info, err := fs.Lstat(fsys, name)
	switch {
	case err != nil:
		defects.addUnseen(file, err)
		return false
	case info.Mode().Type() != want.Type():
		defects.Add(FileUnexpected, file, "it is neither a plain file nor a directory where one belongs: %v", info.Mode())
		return false
	case info.Mode() != want:
		defects.addMode(file, info.Mode(), want)
	}
	return true
}

func (r *generationReader) walk(dir string, level int) {
	entries, err := fs.ReadDir(r.fs, path.Join(r.dir, dir))
	if err != nil {
		r.add(Unreadable, dir, "it cannot be listed: %v", err)
		return
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if level == depth || name == RecordName {
			r.read(name)
		} else if r.checkMode(name, DirectoryMode) {
			r.walk(name, level+1)
		}
	}
}

func (r *generationReader) read(name string) {
	if !r.checkMode(name, PlainMode) {
		return
	}
	data, err := ReadFile(r.fs, path.Join(r.dir, name), MaxFileBytes)
	if err != nil {
		r.g.Defects.addUnread(filepath.Join(r.g.Path, name), err)
		return
	}
	r.files[name] = data
}

// compareRecord checks that the files are exactly those that were installed.
func (r *generationReader) compareRecord() {
	text, ok := r.files[RecordName]
	delete(r.files, RecordName)
	if !ok {
		r.add(GenerationIncomplete, RecordName, "it is missing: the generation was never complete")
		return
	}
	record, err := ParseRecord(text)
	if err != nil {
		r.add(GenerationIncomplete, RecordName, "nothing says what was installed: %v", err)
		return
	}
	r.g.Record = record
	if record.Revision != r.g.Number {
		r.add(GenerationIncomplete, RecordName, "it is that of generation %d", record.Revision)
	}
	for _, name := range slices.Sorted(maps.Keys(record.Files)) {
		data, ok := r.files[name]
		switch {
		case !ok && !r.g.Defective(name):
			r.add(FileMissing, name, "it was installed and is not there")
		case ok && Hash(data) != record.Files[name]:
			r.add(HashMismatch, name, "it is not what was installed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		if _, ok := record.Files[name]; !ok {
			r.add(FileUnexpected, name, "it was not installed")
		}
	}
}
