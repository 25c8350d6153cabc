// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeletvolume lays out directories for tests as kubelet does for Secrets and ConfigMaps. The files of
// each content are in a directory of their own. One rename replaces the link ..data to it, and the visible names
// are links through ..data.
//
// It starts no goroutine. Only one goroutine at a time may change a Volume, any number may read it.
package kubeletvolume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Volume is one mounted object.
type Volume struct {
	Dir string

	swaps int
	names map[string]bool
}

// New returns an empty volume that ends with the test. It has no files before the first Swap.
func New(t testing.TB) *Volume {
	return &Volume{Dir: t.TempDir(), names: map[string]bool{}}
}

// Path returns the path of a key of the object.
func (v *Volume) Path(key string) string { return filepath.Join(v.Dir, key) }

// Swap replaces the content.
func (v *Volume) Swap(t testing.TB, content map[string]string) {
	t.Helper()
	if err := v.swap(content); err != nil {
		t.Errorf("swap the content of %s: %v", v.Dir, err)
	}
}

func (v *Volume) swap(content map[string]string) error {
	v.swaps++
	former, err := os.Readlink(v.Path("..data"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dir := fmt.Sprintf("..2026_11_23_13_00_00.%09d", v.swaps)
	if err := os.Mkdir(v.Path(dir), 0o755); err != nil {
		return err
	}
	for key, value := range content {
		if err := os.WriteFile(filepath.Join(v.Dir, dir, key), []byte(value), 0o600); err != nil {
			return err
		}
	}
	if err := os.Symlink(dir, v.Path("..data_tmp")); err != nil {
		return err
	}
	if err := os.Rename(v.Path("..data_tmp"), v.Path("..data")); err != nil {
		return err
	}
	if err := v.show(content); err != nil || former == "" {
		return err
	}
	return os.RemoveAll(v.Path(former))
}

func (v *Volume) show(content map[string]string) error {
	for key := range content {
		if v.names[key] {
			continue
		}
		if err := os.Symlink(filepath.Join("..data", key), v.Path(key)); err != nil {
			return err
		}
		v.names[key] = true
	}
	for key := range v.names {
		if _, ok := content[key]; ok {
			continue
		}
		if err := os.Remove(v.Path(key)); err != nil {
			return err
		}
		delete(v.names, key)
	}
	return nil
}
