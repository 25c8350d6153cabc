// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// user has no account on nodes. The project's Deployments name the same one.
	user = "65532:65532"
	// entrypoint is the only file.
	entrypoint = "/certrotation"
)

// labels are annotations of the index too: registries show these.
func (of *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "certrotation",
		"org.opencontainers.image.description": "Safe rotation of the certificate authorities that run inside Kubernetes",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     of.Version,
		"org.opencontainers.image.revision":    of.Commit,
		"org.opencontainers.image.created":     of.created(),
	}
}

// image has nothing but the program.
func (of *release) image(p v1.Platform, program string) (v1.Image, error) {
	layer, err := of.layer(program)
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{
		Layer: layer, MediaType: types.OCILayer,
		History: v1.History{Created: v1.Time{Time: of.Date}, CreatedBy: "hack/image", Comment: entrypoint},
	})
	if err != nil {
		return nil, fmt.Errorf("append the program: %w", err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	file = file.DeepCopy()
	file.Created, file.OS, file.Architecture, file.Variant = v1.Time{Time: of.Date}, p.OS, p.Architecture, p.Variant
	file.Config = v1.Config{Entrypoint: []string{entrypoint}, User: user, WorkingDir: "/", Labels: of.labels()}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, fmt.Errorf("set the configuration: %w", err)
	}
	return image, nil
}

// layer is a tar with the program, which belongs to root: who runs it cannot replace it.
func (of *release) layer(program string) (v1.Layer, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{
		Typeflag: tar.TypeReg, Name: entrypoint[1:], Mode: 0o555, Size: int64(len(content)), ModTime: of.Date, Format: tar.FormatPAX,
	}
	if err := w.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("write the layer: %w", err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("write the layer: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write the layer: %w", err)
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithCompressionLevel(gzip.DefaultCompression),
	)
}
