// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"sigs.k8s.io/yaml"

	"certrotation.dev/hack/program"
)

const testDigest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// testRelease is one in a directory of its own; the test is in the root of the repository, as people are.
func testRelease(t *testing.T) *release {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
	return &release{
		Source: program.Source{Version: "v0.1.0", Commit: "0a1b2c3d", Date: time.Date(2026, 11, 24, 12, 0, 1, 0, time.UTC)},
		digest: testDigest, url: "https://example.com/v0.1.0", dir: t.TempDir(),
	}
}

// TestTwoReleasesAreOne packs this test, as the program, twice.
func TestTwoReleasesAreOne(t *testing.T) {
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	of := testRelease(t)
	platforms := []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "windows", Architecture: "amd64"}}
	var sums []string
	for range 2 {
		of.dir = t.TempDir()
		for _, p := range platforms {
			if _, err := of.pack(plugin, p, self); err != nil {
				t.Fatal(err)
			}
		}
		if err := of.manifests(t.Context()); err != nil {
			t.Fatal(err)
		}
		files, err := writeChecksums(of.dir)
		// An archive and a bill of materials each, crds.yaml and five overlays.
		if want := 2*len(platforms) + 6; err != nil || files != want {
			t.Fatalf("there are %d files, want %d: %v", files, want, err)
		}
		text, err := os.ReadFile(filepath.Join(of.dir, checksums))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
	}
	if sums[0] != sums[1] {
		t.Errorf("two releases differ:\n%s\n%s", sums[0], sums[1])
	}
}

func TestArchives(t *testing.T) {
	for name, tt := range map[string]struct {
		platform v1.Platform
		archive  string
		list     func(*testing.T, []byte, time.Time) string
		want     string
	}{
		"a tarball": {
			platform: v1.Platform{OS: "darwin", Architecture: "arm64"}, archive: "kubectl-certrotation_v0.1.0_darwin_arm64.tar.gz", list: listTarball,
			want: "-rwxr-xr-x kubectl-certrotation\n-rw-r--r-- LICENSE\n-rwxr-xr-x kubectl_complete-certrotation\n",
		},
		"a zip": {
			platform: v1.Platform{OS: "windows", Architecture: "amd64"}, archive: "kubectl-certrotation_v0.1.0_windows_amd64.zip", list: listZip,
			want: "-rwxr-xr-x kubectl-certrotation.exe\n-rw-r--r-- LICENSE\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			self, err := filepath.Abs(os.Args[0])
			if err != nil {
				t.Fatal(err)
			}
			of := testRelease(t)
			d, err := of.pack(plugin, tt.platform, self)
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(filepath.Join(of.dir, tt.archive))
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(content); d.name != tt.archive || d.sum != hex.EncodeToString(sum[:]) {
				t.Errorf("the download is %+v", d)
			}
			if got := tt.list(t, content, of.Date); got != tt.want {
				t.Errorf("it has\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func listTarball(t *testing.T, content []byte, date time.Time) string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(date) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("the file is %+v", header)
		}
		fmt.Fprintf(&out, "%s %s\n", header.FileInfo().Mode(), header.Name)
	}
}

func listZip(t *testing.T, content []byte, date time.Time) string {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, file := range archive.File {
		if !file.Modified.Equal(date) {
			t.Errorf("%s is of %s", file.Name, file.Modified)
		}
		fmt.Fprintf(&out, "%s %s\n", file.Mode(), file.Name)
	}
	return out.String()
}

func TestKrewManifest(t *testing.T) {
	of := testRelease(t)
	downloads := []download{
		{Platform: v1.Platform{OS: "linux", Architecture: "arm64"}, name: "a.tar.gz", program: "kubectl-certrotation", sum: "aa"},
		{Platform: v1.Platform{OS: "windows", Architecture: "amd64"}, name: "b.zip", program: "kubectl-certrotation.exe", sum: "bb"},
	}
	files := [][]krewFile{
		{{"kubectl-certrotation", "."}, {"LICENSE", "."}, {"kubectl_complete-certrotation", "."}},
		{{"kubectl-certrotation.exe", "."}, {"LICENSE", "."}},
	}
	if err := of.writeKrew(downloads); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(of.dir, krewFileName))
	if err != nil {
		t.Fatal(err)
	}
	var manifest krewManifest
	if err := yaml.UnmarshalStrict(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if want := "/store/certrotation/v0.1.0/kubectl_complete-certrotation\" "; !strings.Contains(manifest.Spec.Caveats, want) {
		t.Errorf("the caveats do not name %s:\n%s", want, manifest.Spec.Caveats)
	}
	if manifest.Metadata.Name != "certrotation" || manifest.Spec.Version != "v0.1.0" || len(manifest.Spec.Platforms) != len(downloads) {
		t.Fatalf("the manifest is\n%s", text)
	}
	for i, p := range manifest.Spec.Platforms {
		d := downloads[i]
		if p.URI != "https://example.com/v0.1.0/"+d.name || p.SHA256 != d.sum || p.Bin != d.program || !slices.Equal(p.Files, files[i]) ||
			p.Selector.MatchLabels["os"] != d.OS || p.Selector.MatchLabels["arch"] != d.Architecture {
			t.Errorf("the platform of %+v is %+v", d, p)
		}
	}
}

// TestManifestsNameTheImage: each overlay runs the image by the digest of the release, and nothing else.
func TestManifestsNameTheImage(t *testing.T) {
	of := testRelease(t)
	if err := of.manifests(t.Context()); err != nil {
		t.Fatal(err)
	}
	overlays, err := os.ReadDir(filepath.Join("manifests", "overlays"))
	if err != nil || len(overlays) == 0 {
		t.Fatalf("%d overlays, %v", len(overlays), err)
	}
	for _, overlay := range overlays {
		text, err := os.ReadFile(filepath.Join(of.dir, overlay.Name()+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		images := strings.Count(string(text), "image: ")
		if pinned := strings.Count(string(text), "image: "+imageName+"@"+testDigest+"\n"); pinned != 2 || images != pinned || strings.Contains(string(text), unpinned) {
			t.Errorf("%s names %d images, %d by the digest of the release", overlay.Name(), images, pinned)
		}
	}
	crds, err := os.ReadFile(filepath.Join(of.dir, "crds.yaml"))
	if want := 3; err != nil || strings.Count(string(crds), "kind: CustomResourceDefinition\n") != want {
		t.Errorf("crds.yaml has not %d definitions: %v", want, err)
	}
}

// TestChartHasTheFiles: what is packed is no link, and the values have a digest to replace.
func TestChartHasTheFiles(t *testing.T) {
	of := testRelease(t)
	dir := filepath.Join(t.TempDir(), "chart")
	if err := copyTree(filepath.Join("manifests", "chart"), dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"files/deployment/serve.yaml", "crds/config.certrotation.dev_rotationrecords.yaml", "templates/certrotation.yaml"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is no file: %v", name, err)
		}
	}
	values, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if values, err = of.pin(values); err != nil || !strings.Contains(string(values), "digest: "+testDigest+"\n") {
		t.Errorf("the values have not the digest: %v\n%s", err, values)
	}
	if _, err := of.pin([]byte("image: certrotation:latest")); err == nil {
		t.Error("a manifest without a digest is taken")
	}
}

func TestBadFlags(t *testing.T) {
	complete := []string{"--version=v1.0.0", "--commit=c", "--date=2026-11-24T12:00:00Z"}
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"nothing is said":    {says: "required"},
		"no date":            {args: []string{"--version=v1.0.0", "--commit=c", "--date=yesterday"}, says: "--date"},
		"no URL":             {args: append(complete, "--download-url=example.com"), says: "--download-url"},
		"no repository":      {args: append(complete, "--repository-url=git@example.com:certrotation"), says: "--repository-url"},
		"an unknown flag":    {args: []string{"--push"}, says: "push"},
		"what is not a flag": {args: append(complete, "now"), says: "now"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(tt.args); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("it says %v, want %q", err, tt.says)
			}
		})
	}
	of, err := parse(append(complete, "--download-url=https://example.com/VERSION/"))
	if err != nil || of.url != "https://example.com/v1.0.0" {
		t.Errorf("the URL is %+v, %v", of, err)
	}
}

// TestOnlyAReleaseIsReplaced: a directory of something else is not emptied.
func TestOnlyAReleaseIsReplaced(t *testing.T) {
	of := release{dir: filepath.Join(t.TempDir(), "release")}
	old := filepath.Join(of.dir, "old.tgz")
	for _, step := range []string{"none is there", "an unfinished one", "one of before"} {
		if err := of.begin(); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if _, err := os.Stat(old); err == nil {
			t.Errorf("%s: %s is still there", step, old)
		}
		if err := os.WriteFile(old, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(of.dir, checksums)); err != nil {
		t.Fatal(err)
	}
	if err := of.begin(); err == nil || !strings.Contains(err.Error(), "not emptied") {
		t.Errorf("a directory of other files is emptied: %v", err)
	}
}
