// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"certrotation.dev/registry/survey"
)

// Bounds of what check reads.
const (
	maxCheckedBytes = 16 << 20
	maxCheckedFiles = 50000
	maxCheckedDepth = 32
	// maxCheckedProblems bounds how many files are named that cannot be read.
	maxCheckedProblems = 20
)

// checkReader reads files into a survey.
type checkReader struct {
	survey  *survey.Survey
	stdin   io.Reader
	objects checkedObjects
	// directories are the certificates and keys of files by their directory.
	directories map[string]*survey.Entries
	// problems are a sentence for each input that cannot be read. They quote nothing of it.
	problems       []string
	files, skipped int
	full           bool
}

func newCheckReader(into *survey.Survey, stdin io.Reader) *checkReader {
	return &checkReader{survey: into, stdin: stdin, objects: newCheckedObjects(), directories: map[string]*survey.Entries{}}
}

func (r *checkReader) problem(format string, args ...any) {
	text := clean(fmt.Sprintf(format, args...))
	switch {
	case slices.Contains(r.problems, text):
	case len(r.problems) < maxCheckedProblems:
		r.problems = append(r.problems, text)
	case len(r.problems) == maxCheckedProblems:
		r.problems = append(r.problems, "and more files cannot be read")
	}
}

// readNamed reads a file or directory that a person named.
func (r *checkReader) readNamed(name string) {
	if name == "-" {
		r.content("-", r.stdin, true)
		return
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		r.problem("cannot read %s: %v", oneLine(name), reasonOf(err))
	case info.IsDir():
		r.directory(name, 0)
	default:
		r.file(name, true)
	}
}

// reasonOf is the reason of a failed access without the path.
func reasonOf(err error) error {
	if access, ok := errors.AsType[*fs.PathError](err); ok {
		return access.Err
	}
	return err
}

// directory follows links to files, such as those of a mounted Secret, and none to directories: they may form a circle.
func (r *checkReader) directory(name string, depth int) {
	if depth > maxCheckedDepth {
		r.problem("%s is more than %d directories deep", oneLine(name), maxCheckedDepth)
		return
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		r.problem("cannot read %s: %v", oneLine(name), reasonOf(err))
		return
	}
	for _, entry := range entries {
		path := filepath.Join(name, entry.Name())
		if entry.IsDir() {
			if !strings.HasPrefix(entry.Name(), ".") {
				r.directory(path, depth+1)
			}
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			r.file(path, false)
		}
	}
}

func (r *checkReader) file(name string, named bool) {
	if !named && !isObjectFile(name) && !isCertificateFile(name) {
		r.skipped++
		return
	}
	file, err := os.Open(name)
	if err != nil {
		r.problem("cannot read %s: %v", oneLine(name), reasonOf(err))
		return
	}
	defer file.Close()
	r.content(name, file, named)
}

func (r *checkReader) content(name string, from io.Reader, named bool) {
	if r.files++; r.files > maxCheckedFiles {
		if !r.full {
			r.problem("there are more than %d files: check some of the directories", maxCheckedFiles)
		}
		r.full = true
		return
	}
	data, err := io.ReadAll(io.LimitReader(from, maxCheckedBytes+1))
	switch {
	case err != nil:
		r.problem("cannot read %s: %v", oneLine(name), reasonOf(err))
	case len(data) > maxCheckedBytes:
		r.problem("%s has more than %d MiB", oneLine(name), maxCheckedBytes>>20)
	case isCertificateFile(name) || !isObjectFile(name) && bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN ")):
		r.certificate(name, data, named)
	case named && bytes.IndexByte(data, 0) >= 0:
		r.problem("%s is no text: give PEM, DER (.crt, .cer, .der) or Kubernetes objects", oneLine(name))
	case filepath.Ext(name) == ".conf" && !named && !bytes.Contains(data, []byte("kind: Config")):
		r.skipped++
	default:
		r.manifest(name, data)
	}
}

// certificate keeps a file until all files of its directory are known.
func (r *checkReader) certificate(name string, data []byte, named bool) {
	der := len(data) > 1 && data[0] == 0x30 && data[1] >= 0x80
	if !der && !bytes.Contains(data, []byte("-----BEGIN ")) {
		if named {
			r.problem("%s holds no certificate and no key, neither in PEM nor in DER", oneLine(name))
		} else {
			r.skipped++
		}
		return
	}
	directory := filepath.Dir(name)
	entries := r.directories[directory]
	if entries == nil {
		entries = &survey.Entries{Group: "directory " + directory, Secret: true, Files: map[string]string{}, Values: map[string][]byte{}}
		r.directories[directory] = entries
	}
	base := filepath.Base(name)
	if name == "-" {
		base = "stdin.pem"
	}
	entries.Files[base], entries.Values[base] = name, data
}

// finish hands the files of each directory to the survey, and drops the keys among them.
func (r *checkReader) finish() {
	var names []string
	for name := range r.directories {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		r.survey.AddEntries(r.directories[name])
	}
	r.directories = nil
}

func isObjectFile(name string) bool {
	switch filepath.Ext(name) {
	case ".yaml", ".yml", ".json", ".conf", ".kubeconfig":
		return true
	}
	return false
}

func isCertificateFile(name string) bool {
	switch filepath.Ext(name) {
	case ".crt", ".pem", ".cer", ".cert", ".key", ".der":
		return true
	}
	return false
}
