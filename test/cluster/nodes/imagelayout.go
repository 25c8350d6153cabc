// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// annotationName is the annotation from which containerd takes an image's name.
const annotationName = "io.containerd.image.name"

// writeLayout writes an image as an OCI layout in a tar, under several names. Unlike a docker archive, the layout
// keeps the manifest, and so the digest.
func writeLayout(file string, image v1.Image, names ...string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	archive := tar.NewWriter(out)
	index, err := indexOf(image, names)
	if err != nil {
		return err
	}
	if err := addBytes(archive, "oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	if err := addBytes(archive, "index.json", index); err != nil {
		return err
	}
	if err := addBlobs(archive, image); err != nil {
		return err
	}
	return archive.Close()
}

// indexOf returns an index that lists the image once for each name.
func indexOf(image v1.Image, names []string) ([]byte, error) {
	digest, err := image.Digest()
	if err != nil {
		return nil, err
	}
	size, err := image.Size()
	if err != nil {
		return nil, err
	}
	mediaType, err := image.MediaType()
	if err != nil {
		return nil, err
	}
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, name := range names {
		index.Manifests = append(index.Manifests, v1.Descriptor{
			MediaType: mediaType, Digest: digest, Size: size, Annotations: map[string]string{annotationName: name},
		})
	}
	return json.Marshal(index)
}

func addBlobs(archive *tar.Writer, image v1.Image) error {
	for _, blob := range []struct {
		raw    func() ([]byte, error)
		digest func() (v1.Hash, error)
	}{{image.RawManifest, image.Digest}, {image.RawConfigFile, image.ConfigName}} {
		content, err := blob.raw()
		if err != nil {
			return err
		}
		digest, err := blob.digest()
		if err != nil {
			return err
		}
		if err := addBytes(archive, blobName(digest), content); err != nil {
			return err
		}
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		if err := addLayer(archive, layer); err != nil {
			return err
		}
	}
	return nil
}

func addLayer(archive *tar.Writer, layer v1.Layer) error {
	digest, err := layer.Digest()
	if err != nil {
		return err
	}
	compressed, err := layer.Compressed()
	if err != nil {
		return err
	}
	content, err := io.ReadAll(compressed)
	if err := errors.Join(err, compressed.Close()); err != nil {
		return fmt.Errorf("read a layer: %w", err)
	}
	return addBytes(archive, blobName(digest), content)
}

func blobName(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

func addBytes(archive *tar.Writer, name string, content []byte) error {
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}
