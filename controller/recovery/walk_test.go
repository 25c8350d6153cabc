// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNoLinkIsFollowed puts links where this package makes or reads something, as a container could that may write below
// the directory of its resources.
func TestNoLinkIsFollowed(t *testing.T) {
	for name, tc := range map[string]struct {
		// place puts a link into dir that leads to elsewhere.
		place func(dir, elsewhere string) error
		do    func(dir string) error
		// done says that it works, without the link.
		done bool
	}{
		"replace a file whose temporary name is a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, ".file.staging"))
			},
			do: func(dir string) error { return replaceFile(filepath.Join(dir, "file"), []byte("new")) }, done: true,
		},
		"replace a file that is a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, "file"))
			},
			do: func(dir string) error { return replaceFile(filepath.Join(dir, "file"), []byte("new")) }, done: true,
		},
		"replace a file in a directory that is a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(dir string) error { return replaceFile(filepath.Join(dir, "sub", "precious"), []byte("new")) },
		},
		"make a file that is a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "absent"), filepath.Join(dir, "file"))
			},
			do: func(dir string) error { return writeSynced(filepath.Join(dir, "file"), []byte("new")) },
		},
		"make a file that exists": {
			place: func(dir, elsewhere string) error {
				return os.Link(filepath.Join(elsewhere, "precious"), filepath.Join(dir, "file"))
			},
			do: func(dir string) error { return writeSynced(filepath.Join(dir, "file"), []byte("new")) },
		},
		"set aside below a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "aside")) },
			do:    func(dir string) error { return makeWay(filepath.Join(dir, "aside", "manifests")) },
		},
		"write a directory whose temporary name is a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, ".tree.staging")) },
			do: func(dir string) error {
				return writeTree(filepath.Join(dir, "tree"), map[string][]byte{"a/precious": []byte("new")}, nil)
			},
			done: true,
		},
		"move through a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do: func(dir string) error {
				return rename(filepath.Join(dir, "sub", "precious"), filepath.Join(dir, "stolen"))
			},
		},
		"point through a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(dir string) error { return replaceLink(filepath.Join(dir, "sub", "precious"), "generation-1") },
		},
		"read a link": {
			place: func(dir, elsewhere string) error {
				return os.Symlink(filepath.Join(elsewhere, "precious"), filepath.Join(dir, "file"))
			},
			do: func(dir string) error { _, err := readBounded(filepath.Join(dir, "file"), 100); return err },
		},
		"read below a link": {
			place: func(dir, elsewhere string) error { return os.Symlink(elsewhere, filepath.Join(dir, "sub")) },
			do:    func(dir string) error { _, err := readBounded(filepath.Join(dir, "sub", "precious"), 100); return err },
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
			if err := tc.do(dir); (err == nil) != tc.done {
				t.Errorf("error %v, want none: %t", err, tc.done)
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
