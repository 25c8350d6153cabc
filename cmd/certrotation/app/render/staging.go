// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	fileMode = 0o600
	dirMode  = 0o700
)

// staging is a directory beside the output, which finish renames to the output.
type staging struct {
	dir, output string
}

func newStaging(output string) (*staging, error) {
	output, err := filepath.Abs(output)
	if err != nil {
		return nil, fmt.Errorf("--output-dir: %w", err)
	}
	parent := filepath.Dir(output)
	if err := os.MkdirAll(parent, dirMode); err != nil {
		return nil, fmt.Errorf("make the parent of --output-dir: %w", err)
	}
	// MkdirTemp makes it with mode 0700.
	dir, err := os.MkdirTemp(parent, "."+filepath.Base(output)+"-*")
	if err != nil {
		return nil, fmt.Errorf("make a directory beside --output-dir: %w", err)
	}
	return &staging{dir: dir, output: output}, nil
}

func (s *staging) mkdir(elements ...string) (string, error) {
	dir := filepath.Join(append([]string{s.dir}, elements...)...)
	return dir, os.MkdirAll(dir, dirMode)
}

func (s *staging) writeAll(name string, files map[string][]byte) error {
	dir, err := s.mkdir(name)
	if err != nil {
		return err
	}
	for file, data := range files {
		if err := os.WriteFile(filepath.Join(dir, file), data, fileMode); err != nil {
			return err
		}
	}
	return nil
}

func (s *staging) readAll(name string) (map[string][]byte, error) {
	out := map[string][]byte{}
	entries, err := os.ReadDir(filepath.Join(s.dir, name))
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if out[entry.Name()], err = os.ReadFile(filepath.Join(s.dir, name, entry.Name())); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// finish syncs everything and renames the directory to the output. If another directory has appeared there, it
// replaces only an empty one.
func (s *staging) finish() error {
	if err := filepath.WalkDir(s.dir, tighten); err != nil {
		return fmt.Errorf("sync the output: %w", err)
	}
	// Unlike os.Rename, this replaces an empty directory, and no other.
	if err := syscall.Rename(s.dir, s.output); err != nil {
		return fmt.Errorf("name the output: %w", err)
	}
	if err := sync(filepath.Dir(s.output)); err != nil {
		return fmt.Errorf("sync the output: %w", err)
	}
	return nil
}

// tighten syncs a file or directory and fails if group or others have access to it.
func tighten(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if entry.Type()&fs.ModeSymlink != 0 {
		return nil
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s has the mode %04o", name, info.Mode().Perm())
	}
	return sync(name)
}

func sync(name string) error {
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func (s *staging) discard() error { return os.RemoveAll(s.dir) }
