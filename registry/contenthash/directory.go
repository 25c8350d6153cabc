// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package contenthash

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Bounds of a directory, slightly above what one Kubernetes object can hold.
const (
	maxFiles = 4096
	maxBytes = 2 << 20
)

const (
	// hidden is the prefix of names that kubelet reserves.
	hidden = ".."
	// generation is kubelet's link to the directory with the files. Each visible name is a link through it. kubelet
	// swaps the content by renaming this one link.
	generation = "..data"
)

// OfDirectory returns the content of a mounted Secret or ConfigMap. If kubelet swaps the content meanwhile, the error
// is fs.ErrNotExist.
func OfDirectory(directory fs.FS) (Content, error) {
	dir, err := current(directory)
	if err != nil {
		return Content{}, err
	}
	entries, err := fs.ReadDir(directory, dir)
	if err != nil {
		return Content{}, fmt.Errorf("list the mounted files: %w", err)
	}
	content, left := map[string][]byte{}, maxBytes
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, hidden) {
			continue
		}
		if !entry.Type().IsRegular() {
			return Content{}, fmt.Errorf("%s is no file (%v): mount one Secret or ConfigMap, whole and without subPath", name, entry.Type())
		}
		if len(content) == maxFiles {
			return Content{}, fmt.Errorf("there are more than %d files, which is more than one Secret or ConfigMap has", maxFiles)
		}
		if content[name], err = read(directory, path.Join(dir, name), left); err != nil {
			return Content{}, err
		}
		left -= len(content[name])
	}
	return contentOf(content), nil
}

// current returns the directory with the files: kubelet's generation, or the directory itself if there is none.
func current(directory fs.FS) (string, error) {
	info, err := fs.Lstat(directory, generation)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ".", nil
	case err != nil:
		return "", fmt.Errorf("look at %s: %w", generation, err)
	case info.Mode().Type() != fs.ModeSymlink:
		return "", fmt.Errorf("%s is no symbolic link (%v), and so not of kubelet's making", generation, info.Mode())
	}
	target, err := fs.ReadLink(directory, generation)
	if err != nil {
		return "", fmt.Errorf("read the link %s: %w", generation, err)
	}
	if target == "." || target == hidden || target == "" || strings.Contains(target, "/") {
		return "", fmt.Errorf("%s leads to %q, and not to a directory beside it as kubelet makes it", generation, target)
	}
	return target, nil
}

func read(directory fs.FS, name string, limit int) ([]byte, error) {
	f, err := directory.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open a mounted file: %w", err)
	}
	defer f.Close()
	value, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(value) > limit:
		return nil, fmt.Errorf("the files have more than %d bytes, which is more than one Secret or ConfigMap has", maxBytes)
	}
	return value, nil
}
