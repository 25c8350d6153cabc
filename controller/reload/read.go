// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// generation is kubelet's link to the directory with the current content.
	generation = "..data"
	// maxBytes bounds a file: slightly more than fits into one Kubernetes object.
	maxBytes = 2 << 20
	// attempts bounds retries while kubelet swaps and removes the old content.
	attempts = 3
)

// Read reads files. Those of one directory are of the same content. Empty names are skipped.
func Read(names ...string) ([][]byte, error) {
	var out [][]byte
	var err error
	for range attempts {
		if out, err = readOnce(names); !errors.Is(err, fs.ErrNotExist) {
			return out, err
		}
	}
	return nil, err
}

func readOnce(names []string) ([][]byte, error) {
	resolved, out := map[string]string{}, make([][]byte, len(names))
	for i, name := range names {
		if name == "" {
			continue
		}
		dir := filepath.Dir(name)
		if _, ok := resolved[dir]; !ok {
			resolved[dir] = resolve(dir)
		}
		var err error
		if out[i], err = readFile(filepath.Join(resolved[dir], filepath.Base(name))); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return out, nil
}

// resolve follows all links to a directory, and kubelet's link in it. If kubelet has removed that content meanwhile,
// the result stays, so that opening its files fails. The visible names would lead to the next content, file by file.
func resolve(dir string) string {
	if followed, err := filepath.EvalSymlinks(dir); err == nil {
		dir = followed
	}
	if content, err := os.Readlink(filepath.Join(dir, generation)); err == nil {
		return filepath.Join(dir, content)
	}
	return dir
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, bare(err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("it is no file (%v)", info.Mode().Type())
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, bare(err)
	case len(data) > maxBytes:
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	return data, nil
}

// bare strips the path, which contains the time of kubelet's swap, so that a lasting error keeps its text.
func bare(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
