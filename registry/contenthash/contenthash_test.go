// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package contenthash

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/test/property"
)

// mounted returns the layout of kubelet's atomic writer.
func mounted(content map[string][]byte) fstest.MapFS {
	const dir = "..2026_11_23_13_00_00.123456789"
	out := fstest.MapFS{
		dir:        {Mode: fs.ModeDir | 0o755},
		generation: {Mode: fs.ModeSymlink | 0o777, Data: []byte(dir)},
	}
	for key, value := range content {
		out[dir+"/"+key] = &fstest.MapFile{Mode: 0o644, Data: value}
		out[key] = &fstest.MapFile{Mode: fs.ModeSymlink | 0o777, Data: []byte(generation + "/" + key)}
	}
	return out
}

func hashOf(t interface{ Fatal(...any) }, directory fs.FS) string {
	content, err := OfDirectory(directory)
	if err != nil {
		t.Fatal(err)
	}
	return content.Hash
}

func TestSecretConfigMapAndDirectoryAgree(t *testing.T) {
	key := rapid.StringMatching(`[a-z0-9_-][a-z0-9._-]{0,10}`)
	property.Check(t, func(t *rapid.T) {
		content := rapid.MapOfN(key, rapid.SliceOfN(rapid.Byte(), 0, 20), 0, 6).Draw(t, "content")
		config := &corev1.ConfigMap{Data: map[string]string{}, BinaryData: map[string][]byte{}}
		for key, value := range content {
			if rapid.Bool().Draw(t, "binary") {
				config.BinaryData[key] = value
			} else {
				config.Data[key] = string(value)
			}
		}
		plain := fstest.MapFS{}
		for key, value := range content {
			plain[key] = &fstest.MapFile{Data: value}
		}
		want := OfSecret(&corev1.Secret{Data: content})
		if !Valid(want) {
			t.Fatalf("%q is no hash", want)
		}
		if got := OfConfigMap(config); got != want {
			t.Fatalf("ConfigMap %s, Secret %s", got, want)
		}
		if got := hashOf(t, mounted(content)); got != want {
			t.Fatalf("mounted %s, Secret %s", got, want)
		}
		if got := hashOf(t, plain); got != want {
			t.Fatalf("plain directory %s, Secret %s", got, want)
		}
		other := maps.Clone(content)
		other[key.Draw(t, "key")] = rapid.SliceOfN(rapid.Byte(), 21, 30).Draw(t, "value")
		if OfSecret(&corev1.Secret{Data: other}) == want {
			t.Fatalf("%v and %v have one hash", content, other)
		}
	})
}

// TestHashStaysTheSame: pod templates hold these hashes, and other versions of the program read them.
func TestHashStaysTheSame(t *testing.T) {
	got := OfSecret(&corev1.Secret{Data: map[string][]byte{"tls.crt": []byte("certificate"), "tls.key": []byte("key")}})
	if want := "1f264c105009cb3aab2ae35d9701165d12d9f3c5cf4ff90925d3c2215bec86eb"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestBoundariesOfKeysAndValuesCount(t *testing.T) {
	seen := map[string]map[string][]byte{}
	for _, content := range []map[string][]byte{
		{}, {"a": nil}, {"a": []byte("b")}, {"ab": nil}, {"a": []byte("bc")}, {"ab": []byte("c")}, {"a": nil, "b": nil}, {"a": []byte("b"), "c": nil},
	} {
		hash := OfSecret(&corev1.Secret{Data: content})
		if former, ok := seen[hash]; ok {
			t.Errorf("%v and %v have one hash", content, former)
		}
		seen[hash] = content
	}
}

func TestValid(t *testing.T) {
	hash := OfSecret(&corev1.Secret{})
	for name, tt := range map[string]struct {
		hash string
		want bool
	}{
		"a hash":      {hash, true},
		"nothing":     {"", false},
		"cut":         {hash[:63], false},
		"longer":      {hash + "00", false},
		"upper case":  {strings.ToUpper(hash), false},
		"other signs": {strings.Repeat("x", 64), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Valid(tt.hash); got != tt.want {
				t.Errorf("%t, want %t", got, tt.want)
			}
		})
	}
}

func TestOfDirectoryRefuses(t *testing.T) {
	with := func(name string, file *fstest.MapFile) fstest.MapFS {
		out := mounted(map[string][]byte{"a": []byte("1")})
		out[name] = file
		return out
	}
	for name, tt := range map[string]struct {
		directory fs.FS
		want      string
	}{
		"a directory in it":       {fstest.MapFS{"a/b": {}}, "no file"},
		"a link out of it":        {fstest.MapFS{"a": {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")}}, "no file"},
		"..data is a file":        {with(generation, &fstest.MapFile{}), "no symbolic link"},
		"..data leads elsewhere":  {with(generation, &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("../other")}), "not to a directory beside it"},
		"..data leads to itself":  {with(generation, &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(".")}), "not to a directory beside it"},
		"..data leads to the top": {with(generation, &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("/")}), "not to a directory beside it"},
		"..data leads to nothing": {with(generation, &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("..gone")}), "list the mounted files"},
		"too large":               {fstest.MapFS{"a": {Data: make([]byte, maxBytes)}, "b": {Data: []byte("1")}}, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := OfDirectory(tt.directory)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%q, %v, want an error with %q", content, err, tt.want)
			}
		})
	}
}

func TestOfDirectoryThatIsMissing(t *testing.T) {
	if _, err := OfDirectory(os.DirFS(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
}

func FuzzOfDirectory(f *testing.F) {
	f.Add("a", "1", "b", uint32(0o644), "..1", true)
	f.Add("..data", "x", "..data/a", uint32(fs.ModeSymlink), "../..", false)
	f.Fuzz(func(t *testing.T, name, value, other string, mode uint32, target string, link bool) {
		directory := fstest.MapFS{name: {Data: []byte(value)}, other: {Data: []byte(value), Mode: fs.FileMode(mode)}}
		if link {
			directory[generation] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(target)}
		}
		content, err := OfDirectory(directory)
		if err == nil && !Valid(content.Hash) {
			t.Errorf("%q is no hash", content.Hash)
		}
		if again, err2 := OfDirectory(directory); again.Hash != content.Hash || (err == nil) != (err2 == nil) {
			t.Errorf("%q and %q, %v and %v", content, again, err, err2)
		}
	})
}
