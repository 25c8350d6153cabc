// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"certrotation.dev/hack/program"
)

const (
	server = "certrotation"
	plugin = "kubectl-certrotation"
	// completer is what kubectl runs to complete commands of the plugin: a script, which Windows does not run.
	completer = "kubectl_complete-certrotation"
)

var (
	// serverPlatforms are those of the image.
	serverPlatforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}
	pluginPlatforms = []v1.Platform{
		{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"},
		{OS: "darwin", Architecture: "amd64"}, {OS: "darwin", Architecture: "arm64"},
		{OS: "windows", Architecture: "amd64"},
	}
)

// download is an archive with a program.
type download struct {
	v1.Platform
	// name of the archive, and of the program in it.
	name, program string
	sum           string
}

// programs packs the program of the image and builds the plugin, for each platform, and has krew install what it has made.
func (of *release) programs(ctx context.Context) error {
	for _, p := range serverPlatforms {
		if _, err := of.pack(server, p, filepath.Join(of.image, p.Architecture, server)); err != nil {
			return err
		}
	}
	built, err := os.MkdirTemp("", "certrotation-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	var downloads []download
	for _, p := range pluginPlatforms {
		file := filepath.Join(built, p.OS+"-"+p.Architecture)
		if err := program.Build(ctx, plugin, p, of.ldflags, file); err != nil {
			return err
		}
		d, err := of.pack(plugin, p, file)
		if err != nil {
			return err
		}
		downloads = append(downloads, d)
	}
	if err := of.writeKrew(downloads); err != nil {
		return err
	}
	return of.tryKrew(ctx, downloads)
}

// extras of an archive are what is in it beside the program: files of the repository.
func extras(name, system string) []packed {
	out := []packed{{name: "LICENSE", mode: 0o644, from: "LICENSE"}}
	if name == plugin && system != "windows" {
		out = append(out, packed{name: completer, mode: 0o755, from: filepath.Join("cmd", plugin, completer)})
	}
	return out
}

// pack writes an archive with a program and its extras, and what the program is made of.
func (of *release) pack(name string, p v1.Platform, file string) (download, error) {
	d := download{Platform: p, program: name}
	base := name + "_" + of.Version + "_" + p.OS + "_" + p.Architecture
	pack := of.tarball
	if d.name = base + ".tar.gz"; p.OS == "windows" {
		d.name, d.program, pack = base+".zip", name+".exe", of.zip
	}
	files := append([]packed{{name: d.program, mode: 0o755, from: file}}, extras(name, p.OS)...)
	for i := range files {
		var err error
		if files[i].content, err = os.ReadFile(files[i].from); err != nil {
			return download{}, err
		}
	}
	archive, err := pack(files)
	if err != nil {
		return download{}, err
	}
	sum := sha256.Sum256(archive)
	d.sum = hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(of.dir, d.name), archive, 0o644); err != nil {
		return download{}, err
	}
	return d, of.WriteBill(file, filepath.Join(of.dir, base+".spdx.json"))
}

// packed is a file in an archive.
type packed struct {
	name string
	mode os.FileMode
	// from is the file that has the content.
	from    string
	content []byte
}

// tarball has the date of the commit, and no owner.
func (of *release) tarball(files []packed) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	w := tar.NewWriter(zipped)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: of.Date, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (of *release) zip(files []packed) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: of.Date.UTC()}
		header.SetMode(f.mode)
		file, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
