// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// platformImage is the image of a platform.
type platformImage struct {
	platform v1.Platform
	image    v1.Image
}

// manifestName is the image in manifests and samples.
const manifestName = "certrotation.dev/certrotation"

// annotationName is where containerd looks for the name of an image.
const annotationName = "io.containerd.image.name"

// tag is the version as a tag may be.
func (of *release) tag() string { return strings.ReplaceAll(of.Version, "+", "-") }

func (of *release) created() string { return of.Date.UTC().Format(time.RFC3339) }

// write writes the layout and its archive, and returns the digest of the index.
func (of *release) write(images []platformImage, dir string) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, one := range images {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: one.image, Descriptor: v1.Descriptor{Platform: &one.platform}})
	}
	annotated, ok := mutate.Annotations(index, of.labels()).(v1.ImageIndex)
	if !ok {
		return v1.Hash{}, errors.New("annotate the index: it is none any more")
	}
	digest, err := annotated.Digest()
	if err != nil {
		return v1.Hash{}, fmt.Errorf("digest of the index: %w", err)
	}
	oci := filepath.Join(dir, "oci")
	if err := of.writeLayout(oci, annotated, digest); err != nil {
		return v1.Hash{}, fmt.Errorf("write the layout %s: %w", oci, err)
	}
	file := filepath.Join(dir, "certrotation.tar")
	if err := of.writeArchive(os.DirFS(oci), file); err != nil {
		return v1.Hash{}, fmt.Errorf("write the archive %s: %w", file, err)
	}
	for name, text := range of.references(digest) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return v1.Hash{}, err
		}
	}
	return digest, nil
}

// references are the files that have an installation run this image: its digest, a component of kustomizations, and values of the
// chart.
func (of *release) references(digest v1.Hash) map[string]string {
	return map[string]string{
		"digest": digest.String() + "\n",
		"kustomization.yaml": fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
images:
- {name: %s, newName: %s, digest: %q}
configurations: [images.yaml]
`, manifestName, of.Name, digest),
		"images.yaml": "images:\n- {kind: StaticPodClass, path: spec/image}\n",
		"values.yaml": fmt.Sprintf("image: {repository: %s, digest: %q}\n", of.Name, digest),
	}
}

// writeLayout replaces a layout by one with the image, by tag and by digest: a node that has imported it finds it as a manifest
// names it.
func (of *release) writeLayout(dir string, index v1.ImageIndex, digest v1.Hash) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	for _, name := range []string{of.Name + ":" + of.tag(), of.Name + "@" + digest.String()} {
		annotations := map[string]string{annotationName: name}
		if strings.Contains(name, of.tag()) {
			annotations["org.opencontainers.image.ref.name"] = of.tag()
		}
		if err := path.AppendIndex(index, layout.WithAnnotations(annotations)); err != nil {
			return err
		}
	}
	return nil
}

// writeArchive writes the files in their order, with the date of the commit and no owner.
func (of *release) writeArchive(from fs.FS, file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	defer func() { err = errors.Join(err, w.Close(), out.Close()) }()
	return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: of.Date, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
}
