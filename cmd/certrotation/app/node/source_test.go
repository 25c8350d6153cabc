// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"k8s.io/apimachinery/pkg/util/validation"
)

// project writes the keys of an object as kubelet projects a volume.
func project(t *testing.T, dir string, keys map[string][]byte) {
	t.Helper()
	const moment = "..2026_03_01_12_00_00.123456789"
	if err := os.MkdirAll(filepath.Join(dir, moment), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(moment, filepath.Join(dir, dataLink)); err != nil {
		t.Fatal(err)
	}
	for key, value := range keys {
		if err := os.WriteFile(filepath.Join(dir, moment, key), value, 0o400); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dataLink, key), filepath.Join(dir, key)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadSource(t *testing.T) {
	dir := t.TempDir()
	project(t, filepath.Join(dir, "configmaps", "etcd-pod"), map[string][]byte{"pod.yaml": []byte("pod"), "version": []byte("1")})
	project(t, filepath.Join(dir, "configmaps", "bundles"), map[string][]byte{"ca.crt": []byte("A")})
	if err := os.MkdirAll(filepath.Join(dir, "secrets", "plain"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secrets", "plain", "key"), []byte("B"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readSource(dir, "etcd-pod", "pod.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("pod", string(got.PodTemplate)); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]map[string][]byte{"bundles": {"ca.crt": []byte("A")}}, got.ConfigMaps); diff != "" {
		t.Errorf("ConfigMaps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]map[string][]byte{"plain": {"key": []byte("B")}}, got.Secrets); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
	if _, err := readSource(dir, "etcd-pod", "other.yaml", nil); err == nil || !strings.Contains(err.Error(), "configmaps/etcd-pod/other.yaml is not in") {
		t.Errorf("without a template: %v", err)
	}
	if _, err := readSource(filepath.Join(dir, "x"), "etcd-pod", "pod.yaml", nil); err == nil {
		t.Error("without a directory: no error")
	}
}

func TestReadObjectsRefuses(t *testing.T) {
	link := func(target string) *fstest.MapFile {
		return &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(target)}
	}
	file := &fstest.MapFile{Mode: 0o400}
	tests := map[string]fstest.MapFS{
		"file for an object":    {"secrets/x": file},
		"name of an object":     {"secrets/X_Y/key": file},
		"directory for a key":   {"secrets/x/key/y": file},
		"link for a key":        {"secrets/x/key": link("../y")},
		"name of a key":         {"secrets/x/a b": file},
		"hidden directory":      {"secrets/x/..old/key": file},
		"data out of the mount": {"secrets/x/..data": link("../../etc")},
		"data to the parent":    {"secrets/x/..data": link("..")},
		"data to a key":         {"secrets/x/..data": link("key"), "secrets/x/key": file},
		"data that dangles":     {"secrets/x/..data": link("..gone")},
		"data that is a file":   {"secrets/x/..data": file},
		"too large":             {"secrets/x/key": &fstest.MapFile{Data: make([]byte, maxKeyBytes+1)}},
	}
	for name, fsys := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := readObjects(fsys, "secrets"); err == nil {
				t.Errorf("it reads %v", got)
			}
		})
	}
	if got, err := readObjects(fstest.MapFS{}, "secrets"); got != nil || err != nil {
		t.Errorf("nothing: %v, %v", got, err)
	}
}

// FuzzReadVolume looks for names in a projected directory that are accepted although they are not valid keys.
func FuzzReadVolume(f *testing.F) {
	f.Add("tls.crt", "..2026", true)
	f.Add("..data", "..", true)
	f.Add("../x", "../y", false)
	f.Add("a/b", "x", false)
	f.Fuzz(func(t *testing.T, key, moment string, projected bool) {
		dir := "secrets/x"
		fsys := fstest.MapFS{}
		if projected {
			fsys[dir+"/"+dataLink] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte(moment)}
			dir += "/" + moment
		}
		fsys[dir+"/"+key] = &fstest.MapFile{Data: []byte("value")}
		if _, err := fs.Stat(fsys, "secrets/x"); err != nil {
			return
		}
		keys, err := readVolume(fsys, "secrets/x")
		if err != nil {
			return
		}
		for name := range keys {
			if faults := validation.IsConfigMapKey(name); len(faults) > 0 {
				t.Errorf("it accepts %q: %v", name, faults)
			}
		}
	})
}
