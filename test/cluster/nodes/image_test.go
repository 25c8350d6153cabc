// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestWriteImage: the archive names the image by tag and by the returned digest, and the digest of every blob matches
// its name.
func TestWriteImage(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "image.tar")
	byDigest, err := WriteImage(archive, "certrotation.dev/x:local", map[string]string{"usr/bin/x": program}, []string{"/usr/bin/x"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	files := untar(t, archive)
	var index v1.IndexManifest
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range index.Manifests {
		names = append(names, m.Annotations[annotationName])
		if byDigest != "certrotation.dev/x@"+m.Digest.String() || files["blobs/sha256/"+m.Digest.Hex] == nil {
			t.Errorf("%s is not %s", byDigest, m.Digest)
		}
	}
	if got := strings.Join(names, " "); got != "certrotation.dev/x:local "+byDigest {
		t.Errorf("names %s", got)
	}
	for name, content := range files {
		sum := sha256.Sum256(content)
		if digest, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && digest != hex.EncodeToString(sum[:]) {
			t.Errorf("%s has another digest", name)
		}
	}
	again, err := WriteImage(archive, "certrotation.dev/x:local", map[string]string{"usr/bin/x": program}, []string{"/usr/bin/x"})
	if err != nil || again != byDigest {
		t.Errorf("made twice: %s, %v, want %s", again, err, byDigest)
	}
	if remade, err := os.ReadFile(archive); err != nil || !bytes.Equal(remade, made) {
		t.Errorf("made twice, the archives differ: %v", err)
	}
}

func untar(t *testing.T, archive string) map[string][]byte {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out, reader := map[string][]byte{}, tar.NewReader(file)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}
