// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"certrotation.dev/controller/durable"
	"certrotation.dev/registry/nodepod"
)

// realNode is a node on a real disk. Its manifests mount the paths of a real node.
func realNode(tb testing.TB) *Node {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "manifests"), 0o700); err != nil {
		tb.Fatal(err)
	}
	node, err := Create(nodepod.Layout{
		Name: "etcd", ResourceDirectory: filepath.Join(dir, "a", "resources"), ManifestDirectory: filepath.Join(dir, "manifests"),
		HostResourceDirectory: resources,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return node
}

func TestRealDisk(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o777))
	a, b := authorities[0](), authorities[1]()
	node := realNode(t)
	for _, r := range []Request{
		request(1, content(a, a)), request(2, content(a, a)), request(2, content(a, a)), request(3, content(a, a, b)), request(4, content(b, a, b)),
	} {
		if _, err := node.Install(t.Context(), r); err != nil && !errors.Is(err, ErrContent) {
			t.Fatal(err)
		}
	}
	// The damage requires an exchange.
	r := request(5, content(b, a, b))
	for range 2 {
		if _, err := node.Install(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(node.layout.ResourceDirectory, "etcd-pod-3/generation-5/generation.json"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := node.Install(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	pruned, err := node.Prune(t.Context(), sets.New(4), 9)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(pruned.Removed, " "); got != "etcd-pod-1 etcd-pod-3/generation-3" {
		t.Errorf("removed %s", got)
	}
	if defects := defectsOf(t, node); len(defects) > 0 {
		t.Errorf("defects %v", defects)
	}
	for _, dir := range []string{node.layout.ResourceDirectory, node.layout.ManifestDirectory} {
		checkModes(t, dir)
	}
}

func checkModes(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := nodepod.PlainMode
		switch {
		case name == dir || info.Mode().Type() == fs.ModeSymlink || strings.HasSuffix(name, ".lock"):
			return nil
		case info.IsDir():
			want = nodepod.DirectoryMode
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestConcurrentInstallers installs all revisions at once, as separate processes do. At any time the installed
// content is whole and never older than before. The last revision remains.
func TestConcurrentInstallers(t *testing.T) {
	a, b := authorities[0](), authorities[1]()
	first := realNode(t)
	var running sync.WaitGroup
	const last = 12
	for n := 1; n <= last; n++ {
		c := content(a, a)
		if n%4 == 0 {
			c = content(b, a, b)
		}
		running.Go(func() {
			node, err := Open(first.layout)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := node.Install(t.Context(), request(n, c)); err != nil && !errors.Is(err, ErrNewer) {
				t.Errorf("revision %d: %v", n, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	newest := 0
	for open := true; open; {
		select {
		case <-done:
			open = false
		default:
		}
		// A reader holds no lock. Between its reads of manifest and pointer, both may become newer, but not older.
		installed, err := first.Installed()
		if errors.Is(err, nodepod.ErrNotInstalled) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if g := installed.Generation.Number; g < newest {
			t.Fatalf("generation %d after %d", g, newest)
		} else {
			newest = g
		}
	}
	if newest != last {
		t.Errorf("generation %d at the end", newest)
	}
}

func TestBusy(t *testing.T) {
	node := realNode(t)
	release, err := node.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := node.Install(ctx, request(1, content(authorities[0](), authorities[0]()))); !errors.Is(err, durable.ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Install: %v", err)
	}
	if _, err := node.Prune(ctx, nil, 1); !errors.Is(err, durable.ErrBusy) {
		t.Errorf("Prune: %v", err)
	}
	// The lock file is removed while it is locked. The next caller must not accept a lock on a file without a
	// name.
	if err := os.Remove(filepath.Join(node.layout.ResourceDirectory, "etcd-pod.lock")); err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = node.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestInterrupted(t *testing.T) {
	node := realNode(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := node.Install(ctx, request(1, content(authorities[0](), authorities[0]()))); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if _, err := node.Installed(); !errors.Is(err, nodepod.ErrNotInstalled) {
		t.Errorf("Installed: %v", err)
	}
}

// TestLinksOut: neither reads nor writes follow a link out of the directories.
func TestLinksOut(t *testing.T) {
	node := realNode(t)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(node.layout.ResourceDirectory, "etcd-pod-1")); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Install(t.Context(), request(1, content(authorities[0](), authorities[0]()))); err == nil {
		t.Error("it installs through a link")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside are %v, %v", entries, err)
	}
	if err := syscall.Mkfifo(filepath.Join(node.layout.ManifestDirectory, "etcd-pod.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := nodepod.ReadFile(node.manifests, "etcd-pod.yaml", 10); err == nil {
		t.Error("it reads a pipe")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]nodepod.Layout{
		"name":                  {Name: "../x", ResourceDirectory: dir, ManifestDirectory: dir},
		"relative path":         {Name: "etcd", ResourceDirectory: "x", ManifestDirectory: dir},
		"no resource directory": {Name: "etcd", ResourceDirectory: filepath.Join(dir, "x"), ManifestDirectory: dir},
		"no manifest directory": {Name: "etcd", ResourceDirectory: dir, ManifestDirectory: filepath.Join(dir, "x")},
	}
	for name, layout := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(layout); err == nil {
				t.Error("it opens")
			}
		})
	}
}

// BenchmarkInstall installs 3 pairs and 2 bundles, as an etcd member has them, on the disk of TMPDIR.
func BenchmarkInstall(b *testing.B) {
	a := authorities[0]()
	for _, bench := range []struct {
		name  string
		trust bool
	}{{"leaves", false}, {"trust", true}} {
		b.Run(bench.name, func(b *testing.B) {
			node := realNode(b)
			leaf := content(a, a)
			for _, name := range []string{"etcd-peer-master-0", "etcd-serving-metrics-master-0"} {
				leaf.Secrets["etcd-all-certs"][name+".crt"] = leaf.Secrets["etcd-all-certs"]["etcd-serving-master-0.crt"]
				leaf.Secrets["etcd-all-certs"][name+".key"] = leaf.Secrets["etcd-all-certs"]["etcd-serving-master-0.key"]
			}
			leaf.ConfigMaps["etcd-all-bundles"]["metrics-ca-bundle.crt"] = a.Certificate.PEM()
			for n := 1; b.Loop(); n++ {
				if bench.trust {
					leaf.ConfigMaps["etcd-all-bundles"]["number"] = []byte(strconv.Itoa(n))
				}
				if _, err := node.Install(b.Context(), request(n, leaf)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
