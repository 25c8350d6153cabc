// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"

	"certrotation.dev/registry/pki"
)

// Generation is one as it is on the disk.
type Generation struct {
	Number int
	// Path is below the resource directory.
	Path string
	// Record is nil if it cannot be read.
	Record *Record
	// Findings are empty if the generation is complete and verified. Their paths are below Path.
	Findings []Finding
}

// Verified tells whether the generation is what was installed, and sound.
func (g *Generation) Verified() bool { return len(g.Findings) == 0 }

// verifier reads one generation.
type verifier struct {
	fs       fileSystem
	dir      string
	files    map[string][]byte
	findings []Finding
}

// readGeneration reads and verifies the generation of that number in that directory.
func readGeneration(fsys fileSystem, dir string, number int) *Generation {
	v := &verifier{fs: fsys, dir: dir, files: map[string][]byte{}}
	v.checkMode(".", directoryMode|fs.ModeDir)
	v.walk(".", 0)
	g := &Generation{Number: number, Path: dir, Record: v.record(number)}
	if g.Record != nil {
		v.compare(g.Record.Files)
	}
	g.Findings = append(v.findings, checkCertificates(v.files)...)
	return g
}

func (v *verifier) find(reason Reason, name, format string, args ...any) {
	v.findings = append(v.findings, finding(reason, name, format, args...))
}

func (v *verifier) checkMode(name string, want fs.FileMode) bool {
	mode, err := v.fs.Mode(path.Join(v.dir, name))
	switch {
	case err != nil:
		v.find(Unreadable, name, "it cannot be looked at: %v", err)
	case mode.Type() != want.Type():
		v.find(UnexpectedFile, name, "it is neither a plain file nor a directory where one belongs: %v", mode)
	case mode != want:
		v.find(WrongMode, name, "its mode is %v, want %v", mode, want)
		return true
	default:
		return true
	}
	return false
}

// depth of files in a generation: kind, object, key.
const depth = 2

func (v *verifier) walk(dir string, level int) {
	entries, err := v.fs.ReadDirectory(path.Join(v.dir, dir))
	if err != nil {
		v.find(Unreadable, dir, "it cannot be listed: %v", err)
		return
	}
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		if level == depth || name == RecordName {
			v.read(name)
		} else if v.checkMode(name, directoryMode|fs.ModeDir) {
			v.walk(name, level+1)
		}
	}
}

func (v *verifier) read(name string) {
	if !v.checkMode(name, fileMode) {
		return
	}
	data, err := v.fs.ReadFile(path.Join(v.dir, name), max(pki.MaxPEMBytes, MaxRecordBytes))
	if err != nil {
		v.find(Unreadable, name, "it cannot be read: %v", err)
		return
	}
	v.files[name] = data
}

func (v *verifier) record(number int) *Record {
	text, ok := v.files[RecordName]
	delete(v.files, RecordName)
	if !ok {
		v.find(NotComplete, RecordName, "it is missing: the generation was never complete")
		return nil
	}
	record, err := ParseRecord(text)
	if err != nil {
		v.find(NotComplete, RecordName, "nothing says what was installed: %v", err)
		return nil
	}
	if record.Revision != number {
		v.find(NotComplete, RecordName, "it is that of generation %d", record.Revision)
	}
	return record
}

func (v *verifier) compare(want map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		data, ok := v.files[name]
		switch {
		case !ok && !v.reported(name):
			v.find(MissingFile, name, "it was installed and is not there")
		case ok && sum(data) != want[name]:
			v.find(HashMismatch, name, "it is not what was installed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.files)) {
		if _, ok := want[name]; !ok {
			v.find(UnexpectedFile, name, "it was not installed")
		}
	}
}

func (v *verifier) reported(name string) bool {
	return slices.ContainsFunc(v.findings, func(f Finding) bool { return f.Path == name })
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// sums are the hashes of files, as a Record has them.
func sums(files map[string][]byte) map[string]string {
	out := make(map[string]string, len(files))
	for name, data := range files {
		out[name] = sum(data)
	}
	return out
}

func notExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
