// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Find is a trace of a key in a file, or in another named source.
type Find struct{ File, Key, Form string }

func (f Find) String() string { return fmt.Sprintf("%s has key %s: its %s", f.File, f.Key, f.Form) }

// InFiles searches all files below a directory for the keys, which are PEM by name.
func InFiles(dir string, keys map[string][]byte) ([]Find, error) {
	ix, err := indexOf(keys)
	if err != nil {
		return nil, err
	}
	return inFiles(dir, ix)
}

func inFiles(dir string, ix *index) ([]Find, error) {
	var finds []Find
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, h := range ix.in(data) {
			finds = append(finds, Find{File: file, Key: h.key, Form: h.form})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search %s for keys: %w", dir, err)
	}
	return finds, nil
}
