// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package reload

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"certrotation.dev/test/kubeletvolume"
)

func TestReadIsOfOneContent(t *testing.T) {
	volume := kubeletvolume.New(t)
	volume.Swap(t, map[string]string{"a": "0", "b": "0"})
	var done atomic.Bool
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; !done.Load(); i++ {
			volume.Swap(t, map[string]string{"a": fmt.Sprint(i), "b": fmt.Sprint(i)})
		}
	})
	defer swapping.Wait()
	defer done.Store(true)
	for reads := 0; reads < 300; {
		content, err := Read(volume.Path("a"), volume.Path("b"))
		if err != nil {
			// Only a test swaps so often that Read runs out of attempts.
			if strings.Contains(err.Error(), "no such file") {
				continue
			}
			t.Fatal(err)
		}
		reads++
		if string(content[0]) != string(content[1]) {
			t.Fatalf("%s and %s were read together", content[0], content[1])
		}
	}
}

// TestResolveKeepsARemovedContent: kubelet may remove the content between reading the link and opening a file.
func TestResolveKeepsARemovedContent(t *testing.T) {
	volume := kubeletvolume.New(t)
	volume.Swap(t, map[string]string{"a": "1"})
	former, err := os.Readlink(volume.Path("..data"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(volume.Path(former)); err != nil {
		t.Fatal(err)
	}
	if got, want := resolve(volume.Dir), volume.Path(former); got != want {
		t.Errorf("the files are read in %s, want %s", got, want)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "plain")
	write(t, filepath.Join(dir, "large"), strings.Repeat("x", maxBytes+1))
	volume := kubeletvolume.New(t)
	volume.Swap(t, map[string]string{"tls.crt": "certificate"})
	if err := os.Symlink(volume.Dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ path, want, fails string }{
		"a plain file":              {path: filepath.Join(dir, "plain"), want: "plain"},
		"a mounted file":            {path: volume.Path("tls.crt"), want: "certificate"},
		"through a link":            {path: filepath.Join(dir, "link", "tls.crt"), want: "certificate"},
		"nothing":                   {},
		"a file that is not there":  {path: volume.Path("tls.key"), fails: "tls.key: no such file or directory"},
		"a directory not there":     {path: filepath.Join(dir, "none", "tls.key"), fails: "none/tls.key: no such file or directory"},
		"a directory":               {path: dir, fails: "no file"},
		"more than an object holds": {path: filepath.Join(dir, "large"), fails: "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(tt.path)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("%q, %v, want an error with %q", got, err, tt.fails)
				}
				return
			}
			if err != nil || string(got[0]) != tt.want {
				t.Fatalf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestFollowerNotices(t *testing.T) {
	volume := kubeletvolume.New(t)
	volume.Swap(t, map[string]string{"a": "1"})
	plain := filepath.Join(t.TempDir(), "plain")
	follower := NewFollower(volume.Path("a"), "", plain)
	for _, step := range []struct {
		name string
		do   func()
		want bool
	}{
		{"the first look", func() {}, true},
		{"nothing", func() {}, false},
		{"a swap", func() { volume.Swap(t, map[string]string{"a": "2"}) }, true},
		{"a swap to the same content", func() { volume.Swap(t, map[string]string{"a": "2"}) }, true},
		{"a file that appears", func() { write(t, plain, "1") }, true},
		{"nothing again", func() {}, false},
		{"one that is written in its place", func() {
			write(t, plain, "2")
			if err := os.Chtimes(plain, time.Time{}, time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"one that goes", func() {
			if err := os.Remove(plain); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		step.do()
		if got := follower.Changed(); got != step.want {
			t.Errorf("%s: changed %t, want %t", step.name, got, step.want)
		}
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
