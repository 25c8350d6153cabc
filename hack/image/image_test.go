// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/spdx/tools-golang/json"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"certrotation.dev/hack/program"
)

var (
	testRelease = &release{
		Name:   "certrotation.dev/certrotation",
		Source: program.Source{Version: "v0.1.0-dev+0a1b2c3", Commit: "0a1b2c3d", Date: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)},
	}
	bothPlatforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}
)

// made is what the release is, with this test in the place of the program.
func made(t *testing.T) (dir string, digest v1.Hash) {
	t.Helper()
	dir = t.TempDir()
	var images []platformImage
	for _, p := range bothPlatforms {
		image, err := testRelease.image(p, os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, platformImage{platform: p, image: image})
	}
	digest, err := testRelease.write(images, dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := testRelease.WriteBill(os.Args[0], filepath.Join(dir, "certrotation.spdx.json")); err != nil {
		t.Fatal(err)
	}
	return dir, digest
}

// TestTwoBuildsAreOne compares everything that is written, byte by byte.
func TestTwoBuildsAreOne(t *testing.T) {
	first, digest := made(t)
	second, again := made(t)
	if digest != again {
		t.Errorf("the digests of two builds are %s and %s", digest, again)
	}
	files := 0
	err := filepath.WalkDir(first, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		rel, err := filepath.Rel(first, path)
		if err != nil {
			return err
		}
		one, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		other, err := os.ReadFile(filepath.Join(second, rel))
		if err == nil && !bytes.Equal(one, other) {
			err = errors.New(rel + " differs")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	// The layout's index and version, the index of the image, manifest and configuration of both platforms, their layer, the archive, the
	// digest, the component with its configuration, the values and the bill of materials.
	if want := 14; files != want {
		t.Errorf("there are %d files, want %d", files, want)
	}
}

// TestComponent: a kustomization that has the component runs the image, in pods and in what a StaticPodClass installs.
func TestComponent(t *testing.T) {
	files := filesys.MakeFsInMemory()
	digest := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0f", 32)}
	of := &release{Name: "registry.example.com/pki/certrotation"}
	content := map[string]string{
		"/kustomization.yaml": "resources: [objects.yaml]\ncomponents: [bin/image]\n",
		"/objects.yaml": `apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: a, image: certrotation.dev/certrotation@sha256:00}]}
---
apiVersion: config.certrotation.dev/v1alpha1
kind: StaticPodClass
metadata: {name: a}
spec: {image: certrotation.dev/certrotation@sha256:00}
`,
	}
	for name, text := range of.references(digest) {
		content["/bin/image/"+name] = text
	}
	for name, text := range content {
		if err := files.WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), of.Name+"@"+digest.String()); n != 2 {
		t.Errorf("%d of 2 objects run the image:\n%s", n, text)
	}
}

func TestImage(t *testing.T) {
	dir, digest := made(t)
	root, err := layout.ImageIndexFromPath(filepath.Join(dir, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := root.ImageIndex(digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != len(bothPlatforms) || manifest.Annotations["org.opencontainers.image.version"] != testRelease.Version {
		t.Fatalf("the index is %+v", manifest)
	}
	for i, p := range bothPlatforms {
		t.Run(p.String(), func(t *testing.T) {
			if !manifest.Manifests[i].Platform.Equals(p) {
				t.Errorf("the platform in the index is %s", manifest.Manifests[i].Platform)
			}
			image, err := index.Image(manifest.Manifests[i].Digest)
			if err != nil {
				t.Fatal(err)
			}
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			c := config.Config
			if config.Architecture != p.Architecture || c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/certrotation" || len(c.Cmd)+len(c.Env) > 0 {
				t.Errorf("the configuration is %+v", config)
			}
			if !config.Created.Equal(testRelease.Date) || c.Labels["org.opencontainers.image.revision"] != testRelease.Commit {
				t.Errorf("it was created %s, with the labels %v", config.Created, c.Labels)
			}
			checkLayer(t, image)
		})
	}
}

// checkLayer wants one file that nobody can write.
func checkLayer(t *testing.T, image v1.Image) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	archive := tar.NewReader(content)
	header, err := archive.Next()
	if err != nil {
		t.Fatal(err)
	}
	if header.Name != "certrotation" || header.Mode != 0o555 || header.Uid != 0 || !header.ModTime.Equal(testRelease.Date) {
		t.Errorf("the file is %+v", header)
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("there is more than one file: %v", err)
	}
}

func TestBillOfMaterials(t *testing.T) {
	dir, _ := made(t)
	text, err := os.ReadFile(filepath.Join(dir, "certrotation.spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := json.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, p := range doc.Packages {
		versions[p.PackageName] = p.PackageVersion
	}
	if len(info.Deps) == 0 || versions[info.Main.Path] != testRelease.Version || versions["stdlib"] != info.GoVersion {
		t.Errorf("the program is %q, the toolchain %q, and %d modules are linked", versions[info.Main.Path], versions["stdlib"], len(info.Deps))
	}
	for _, m := range info.Deps {
		if versions[m.Path] != m.Version {
			t.Errorf("%s is %q, want %s", m.Path, versions[m.Path], m.Version)
		}
	}
	// Described, and one more for each thing that is linked.
	if want := 2 + len(info.Deps); len(doc.Relationships) != want {
		t.Errorf("there are %d relationships, want %d", len(doc.Relationships), want)
	}
}

func TestBadFlags(t *testing.T) {
	complete := []string{"--version=v1", "--commit=c", "--date=2026-11-24T12:00:00Z"}
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"nothing is said":    {says: "required"},
		"no date":            {args: []string{"--version=v1", "--commit=c", "--date=yesterday"}, says: "--date"},
		"no platform":        {args: append(complete, "--platforms=linux"), says: `"linux" is no platform`},
		"an empty platform":  {args: append(complete, "--platforms=linux/amd64,"), says: `"" is no platform`},
		"an unknown flag":    {args: []string{"--push"}, says: "push"},
		"what is not a flag": {args: append(complete, "now"), says: "now"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t.Context(), append(tt.args, "--output-dir="+t.TempDir()), io.Discard)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("it says %v, want %q", err, tt.says)
			}
		})
	}
}
