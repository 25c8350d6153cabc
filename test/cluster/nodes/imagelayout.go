// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"archive/tar"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// annotationName is the annotation from which containerd takes an image's name.
const annotationName = "io.containerd.image.name"

// writeLayout writes an image as an OCI layout in a tar, under several names. Unlike a docker archive, the layout
// keeps the manifest, and so the digest.
func writeLayout(file string, image v1.Image, names ...string) (err error) {
	dir, err := os.MkdirTemp(filepath.Dir(file), ".layout-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := path.AppendImage(image, layout.WithAnnotations(map[string]string{annotationName: name})); err != nil {
			return err
		}
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(out)
	// Unlike AddFS, addFile keeps neither dates nor owners.
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return addFile(archive, name, filepath.Join(dir, name))
	})
	return errors.Join(err, archive.Close(), out.Close())
}
