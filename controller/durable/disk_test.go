// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"certrotation.dev/registry/nodepod"
)

// TestNoLinkIsFollowed puts links where the package writes or reads. A container that may write below the resource
// directory could do so.
func TestNoLinkIsFollowed(t *testing.T) {
	for name, tc := range map[string]struct {
		// place puts a link into dir that leads to elsewhere.
		place func(dir, elsewhere string) error
		do    func(w *Writer)
		// done is true if the write succeeds and replaces the link.
		done bool
	}{
		"replace a file whose temporary name is a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, ".file.staging"))
			},
			do: func(w *Writer) { w.File("file", []byte("new")) }, done: true,
		},
		"replace a file that is a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, "file"))
			},
			do: func(w *Writer) { w.File("file", []byte("new")) }, done: true,
		},
		"replace a file in a directory that is a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(w *Writer) { w.File("sub/precious", []byte("new")) },
		},
		"make a file that is a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "absent"), filepath.Join(dir, "file"))
			},
			do: func(w *Writer) { w.Write("file", []byte("new")) },
		},
		"make a file that exists": {
			place: func(dir, elsewhere string) error {
				return os.Link(filepath.Join(elsewhere, "precious"), filepath.Join(dir, "file"))
			},
			do: func(w *Writer) { w.Write("file", []byte("new")) },
		},
		"set aside below a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "aside")) },
			do:    func(w *Writer) { w.MkdirAll("aside/manifests") },
		},
		"write a directory whose temporary name is a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, ".tree.staging")) },
			do: func(w *Writer) {
				w.Tree(nodepod.Staged("tree"), map[string][]byte{"a/precious": []byte("new")})
				w.Rename(nodepod.Staged("tree"), "tree")
			},
			done: true,
		},
		"move through a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(w *Writer) { w.Rename("sub/precious", "stolen") },
		},
		"point through a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(w *Writer) { w.Link("generation-1", "sub/precious") },
		},
		"read a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, "file"))
			},
			do: func(w *Writer) { read(w, "file") },
		},
		"read below a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(w *Writer) { read(w, "sub/precious") },
		},
		"exchange through a link": {
			place: func(dir, elsewhere string) error {
				return errors.Join(os.Symlink(elsewhere, filepath.Join(dir, "sub")), os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
			},
			do: func(w *Writer) {
				w.Do("exchange", "mine", func() error { return w.FS.Exchange("mine", "sub/precious") })
			},
		},
		"remove through a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(w *Writer) { w.Do("remove", "sub", func() error { return w.FS.Remove("sub/precious") }) },
		},
		"list a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(w *Writer) { w.Do("list", "sub", func() error { _, err := fs.ReadDir(w.FS, "sub"); return err }) },
		},
		"change the mode below a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(w *Writer) { w.Chmod("sub/precious", 0o600) },
		},
		"lock a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, "lock"))
			},
			do: func(w *Writer) { w.Do("lock", "lock", func() error { _, err := w.FS.TryLock("lock"); return err }) },
		},
		"leave the directory": {
			place: func(string, string) error { return nil },
			do:    func(w *Writer) { read(w, "../elsewhere/precious") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			dir, elsewhere := filepath.Join(root, "resources"), filepath.Join(root, "elsewhere")
			for _, d := range []string{dir, elsewhere} {
				if err := os.Mkdir(d, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(elsewhere, "precious"), []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := tc.place(dir, elsewhere); err != nil {
				t.Fatal(err)
			}
			w := &Writer{FS: Disk(dir)}
			if tc.do(w); (w.Err == nil) != tc.done {
				t.Errorf("error %v, want none: %t", w.Err, tc.done)
			}
			data, err := os.ReadFile(filepath.Join(elsewhere, "precious"))
			if err != nil || string(data) != "old" {
				t.Errorf("the file elsewhere has %q, %v", data, err)
			}
			if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) != 1 {
				t.Errorf("elsewhere there is now %v, %v", entries, err)
			}
		})
	}
}

func read(w *Writer, name string) {
	w.Do("read", name, func() error { _, err := nodepod.ReadFile(w.FS, name, 100); return err })
}

// TestDiskIsAFileSystem runs testing/fstest on a Disk.
func TestDiskIsAFileSystem(t *testing.T) {
	dir := t.TempDir()
	w := &Writer{FS: Disk(dir)}
	w.Tree("tree", map[string][]byte{"a/b/file": []byte("data"), "other": nil})
	if err := errors.Join(w.Err, fstest.TestFS(Disk(dir), "tree/a/b/file", "tree/other")); err != nil {
		t.Fatal(err)
	}
	if w.Link("other", "tree/link"); w.Err != nil {
		t.Fatal(w.Err)
	}
	for _, name := range []string{"tree", "tree/a/b/file", "tree/link"} {
		got, err := fs.Lstat(Disk(dir), name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got.Name() != want.Name() || got.Mode() != want.Mode() || !got.ModTime().Equal(want.ModTime()) || !got.IsDir() && got.Size() != want.Size() {
			t.Errorf("%s: %v, want %v", name, fs.FormatFileInfo(got), fs.FormatFileInfo(want))
		}
	}
}
