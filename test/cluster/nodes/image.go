// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// pauseImage is the image of every pod's sandbox.
const pauseImage = "certrotation.dev/pause:1"

// WriteImage writes an archive (an OCI layout) of an image named ref. The image holds only /tmp and files (path in
// the image to file of this machine, whose mode it keeps). The programs must be static. The same files make the same
// archive. It returns the image name by digest, which each node that imports the archive also knows.
func WriteImage(archive, ref string, files map[string]string, entrypoint []string) (byDigest string, err error) {
	tag, err := name.NewTag(ref, name.StrictValidation)
	if err != nil {
		return "", fmt.Errorf("name of the image %s: %w", archive, err)
	}
	content, err := layerOf(files)
	if err != nil {
		return "", fmt.Errorf("make the image %s: %w", ref, err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		return "", fmt.Errorf("make the image %s: %w", ref, err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return "", fmt.Errorf("make the image %s: %w", ref, err)
	}
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH, RootFS: rootFS(image),
		Config: v1.Config{Entrypoint: entrypoint, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, WorkingDir: "/"},
	})
	if err != nil {
		return "", fmt.Errorf("make the image %s: %w", ref, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("make the image %s: %w", ref, err)
	}
	byDigest = tag.Repository.Name() + "@" + digest.String()
	if err := os.MkdirAll(filepath.Dir(archive), 0o755); err != nil {
		return "", err
	}
	if err := writeLayout(archive+".new", image, tag.Name(), byDigest); err != nil {
		return "", fmt.Errorf("write the image %s: %w", archive, err)
	}
	return byDigest, os.Rename(archive+".new", archive)
}

// rootFS returns the list of layers for the configuration; an import refuses an empty list. It cannot fail for an
// image in memory.
func rootFS(image v1.Image) v1.RootFS {
	config, err := image.ConfigFile()
	if err != nil {
		return v1.RootFS{}
	}
	return config.RootFS
}

// layerOf returns a tar of the files, with their parent directories.
func layerOf(files map[string]string) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	made := map[string]bool{".": true, "/": true}
	mkdir := func(dir string, mode int64) error {
		made[dir] = true
		return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode})
	}
	if err := mkdir("tmp", 0o1777); err != nil {
		return nil, err
	}
	for _, inside := range slices.Sorted(maps.Keys(files)) {
		target := strings.TrimPrefix(path.Clean("/"+inside), "/")
		var missing []string
		for dir := path.Dir(target); !made[dir]; dir = path.Dir(dir) {
			missing = append(missing, dir)
		}
		for _, dir := range slices.Backward(missing) {
			if err := mkdir(dir, 0o755); err != nil {
				return nil, err
			}
		}
		if err := addFile(archive, target, files[inside]); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func addFile(archive *tar.Writer, target, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: target, Mode: int64(info.Mode().Perm()), Size: int64(len(content))}); err != nil {
		return err
	}
	_, err = archive.Write(content)
	return err
}

func (w *Network) pauseArchive() string { return filepath.Join(w.cfg.Dir, "images", "pause.tar") }

func (w *Network) writePauseImage() error {
	_, err := WriteImage(w.pauseArchive(), pauseImage, map[string]string{"pause": w.tool("pause")}, []string{"/pause"})
	return err
}
