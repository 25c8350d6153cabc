// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var twoServers = []Server{{Name: "kube-apiserver-0", Address: "127.0.0.1:1"}, {Name: "kube-apiserver-1", Address: "127.0.0.1:2"}}

func TestSeed(t *testing.T) {
	a, b := newSigner(t, "a"), newSigner(t, "b")
	certA, keyA := issue(t, a, "client")
	dir, seedDir := t.TempDir(), filepath.Join(t.TempDir(), "seed")
	seed(t, seedDir, bundle(a), certA, keyA)
	open := func() (*store, *material) {
		t.Helper()
		s, m, err := openStore(dir, seedDir, twoServers)
		if err != nil {
			t.Fatal(err)
		}
		return s, m
	}
	trusts := func(m *material) []string {
		return []string{m.trusts[twoServers[0].Name].id, m.trusts[twoServers[1].Name].id}
	}
	idA, idB := trustID(t, bundle(a)), trustID(t, bundle(b))

	s, m := open()
	if diff := cmp.Diff([]string{idA, idA}, trusts(m)); diff != "" {
		t.Errorf("trust of a first start (-want +got):\n%s", diff)
	}
	// After a half-finished rollout, the next start continues from there.
	if _, err := s.putTrust(bundle(b)); err != nil {
		t.Fatal(err)
	}
	if err := s.point(twoServers[0].Name+trustPointer, trustPrefix+idB); err != nil {
		t.Fatal(err)
	}
	certB, keyB := issue(t, b, "client")
	l, err := s.putLeaf(certB, keyB)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.point(leafPointer, leafPrefix+l.id); err != nil {
		t.Fatal(err)
	}
	_, m = open()
	if diff := cmp.Diff([]string{idB, idA}, trusts(m)); diff != "" {
		t.Errorf("trust of a start in the middle (-want +got):\n%s", diff)
	}
	if m.leaf.id != l.id {
		t.Error("the leaf went back to that of the seed")
	}
	// A new seed, as after a recovery, replaces what is loaded.
	newCert, newKey := issue(t, b, "recovered")
	seed(t, seedDir, bundle(a, b), newCert, newKey)
	_, m = open()
	idAB := trustID(t, bundle(a, b))
	if diff := cmp.Diff([]string{idAB, idAB}, trusts(m)); diff != "" {
		t.Errorf("trust of a new seed (-want +got):\n%s", diff)
	}
	if m.leaf.id == l.id {
		t.Error("the leaf of the new seed was not taken")
	}
}

func TestSeedRefusesWhatCannotBeLoaded(t *testing.T) {
	a := newSigner(t, "a")
	cert, key := issue(t, a, "client")
	_, otherKey := issue(t, a, "other")
	for name, files := range map[string][3][]byte{
		"a bundle without anchors":   {nil, cert, key},
		"a key of another pair":      {bundle(a), cert, otherKey},
		"text instead of a bundle":   {[]byte("hello"), cert, key},
		"a pair without certificate": {bundle(a), nil, key},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			seedDir := seed(t, filepath.Join(dir, "seed"), files[0], files[1], files[2])
			if _, _, err := openStore(filepath.Join(dir, "store"), seedDir, twoServers); err == nil {
				t.Error("it was taken over")
			} else if !strings.Contains(err.Error(), seedDir) {
				t.Errorf("the error does not name the seed: %v", err)
			}
		})
	}
}

func TestStoreNamesSetsOfAnchors(t *testing.T) {
	a, b := newSigner(t, "a"), newSigner(t, "b")
	s := &store{dir: t.TempDir()}
	first, err := s.putTrust(bundle(a, b))
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.putTrust(append([]byte("# a comment\n"), bundle(b, a, b)...))
	if err != nil {
		t.Fatal(err)
	}
	if first.id != second.id || !first.writtenAt.Equal(second.writtenAt) {
		t.Errorf("the same anchors are %+v and %+v", first, second)
	}
	if err := s.prune(map[string]bool{}, map[string]bool{}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(s.dir); err != nil || len(entries) != 0 {
		t.Errorf("%d entries are left (%v)", len(entries), err)
	}
}

func TestStoreFilesAreForTheOwnerOnly(t *testing.T) {
	a := newSigner(t, "a")
	cert, key := issue(t, a, "client")
	dir := t.TempDir()
	if _, _, err := openStore(filepath.Join(dir, "store"), seed(t, filepath.Join(dir, "seed"), bundle(a), cert, key), twoServers); err != nil {
		t.Fatal(err)
	}
	var files []string
	if err := filepath.Walk(filepath.Join(dir, "store"), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			files = append(files, filepath.Base(path))
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %s", path, info.Mode())
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	if diff := cmp.Diff([]string{fileBundle, fileCertificate, fileKey, seedMark}, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestFlags(t *testing.T) {
	cfg := Config{Flags: []string{"--etcd-servers=https://x", "--shutdown-delay-duration=9s"}}
	server := twoServers[1]
	server.Flags = []string{"--goaway-chance=0.001"}
	flags, err := cfg.flags(server, &store{dir: "/d"}, &trust{file: "/d/trust-1/etcd-ca-bundle.crt"})
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{}
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		last[name] = value
	}
	for name, want := range map[string]string{
		"--bind-address": "127.0.0.1", "--secure-port": "2", "--etcd-cafile": "/d/trust-1/etcd-ca-bundle.crt",
		"--etcd-certfile": "/d/leaf/etcd-client.crt", "--etcd-keyfile": "/d/leaf/etcd-client.key",
		"--etcd-servers": "https://x", "--shutdown-delay-duration": "9s", "--goaway-chance": "0.001",
	} {
		if last[name] != want {
			t.Errorf("%s is %q, want %q", name, last[name], want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		servers []Server
		want    string
	}{
		"no port":      {servers: []Server{{Name: "a", Address: "127.0.0.1"}}, want: "host:port"},
		"same name":    {servers: []Server{{Name: "a", Address: "h:1"}, {Name: "a", Address: "h:2"}}, want: "of its own"},
		"same address": {servers: []Server{{Name: "a", Address: "h:1"}, {Name: "b", Address: "h:1"}}, want: "of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Servers: c.servers}
			if err := cfg.checkServers(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to contain %q", err, c.want)
			}
		})
	}
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Config.Dir is missing") {
		t.Errorf("got %v for an empty configuration", err)
	}
}
