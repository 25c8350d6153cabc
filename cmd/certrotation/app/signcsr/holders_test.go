// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package signcsr

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"certrotation.dev/registry/csr"
)

// TestFirstKeyWins: a node with a certificate gets none for another key, with any token and after a restart. An
// operator can release the node.
func TestFirstKeyWins(t *testing.T) {
	w := newWorld(t, nil)
	thief := newKey(t)
	if code, _, status := w.post(object("first", ask(t, nodeKey(t), nil))); code != http.StatusCreated {
		t.Fatal(code, status)
	}
	refused := func(name string) {
		t.Helper()
		code, _, status := w.post(object(name, ask(t, thief, nil)))
		if code != http.StatusForbidden || !strings.Contains(status.Message, "certrotation sign-csr release --storage-dir DIR --node "+testNode) {
			t.Errorf("%s: code %d, status %+v, want 403 and how to release the node", name, code, status)
		}
		if got := w.lastDecision(); got.Reason != csr.KeyHeld {
			t.Errorf("%s: decisions.log ends with %+v", name, got)
		}
	}
	refused("thief")
	if code, _, status := w.post(object("again", ask(t, nodeKey(t), nil))); code != http.StatusCreated {
		t.Errorf("the same key under another name: %d, %v", code, status)
	}
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	w.start()
	refused("thief-after-restart")

	command, out := newReleaseCommand(), &bytes.Buffer{}
	command.SetOut(out)
	command.SetArgs([]string{"--storage-dir", w.options.StorageDir, "--node", testNode})
	if err := command.Execute(); err != nil || out.String() != "released node master-0, profile EtcdPeer\n" {
		t.Fatalf("release: %v, %q", err, out)
	}
	if code, _, status := w.post(object("replaced", ask(t, thief, nil))); code != http.StatusCreated {
		t.Errorf("another key after the release: %d, %v", code, status)
	}
	if code, _, _ := w.post(object("former", ask(t, nodeKey(t), nil))); code != http.StatusForbidden {
		t.Errorf("the former key after the release: %d, want 403", code)
	}
}

// TestHolderIsNoLink puts something else in the place of the holder file. The signer must refuse the request and
// must not write through a link.
func TestHolderIsNoLink(t *testing.T) {
	for name, place := range map[string]func(path, elsewhere string) error{
		"a link to a file":     func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
		"a link to nowhere":    func(path, elsewhere string) error { return os.Symlink(elsewhere+"-absent", path) },
		"a directory":          func(path, _ string) error { return os.Mkdir(path, 0o700) },
		"a file that is empty": func(path, _ string) error { return os.WriteFile(path, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			elsewhere := w.file("elsewhere", []byte("precious"))
			if err := place(holderPath(w.options.StorageDir, testNode, csr.EtcdPeer), elsewhere); err != nil {
				t.Fatal(err)
			}
			if code, _, _ := w.post(object("first", ask(t, nodeKey(t), nil))); code != http.StatusInternalServerError {
				t.Errorf("code %d, want 500", code)
			}
			if data, err := os.ReadFile(elsewhere); err != nil || string(data) != "precious" {
				t.Errorf("the file behind it is now %q, %v", data, err)
			}
			if _, err := os.Stat(elsewhere + "-absent"); err == nil {
				t.Error("a file was made behind the link")
			}
		})
	}
}

func TestStorageDirectoryIsNoLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if s, err := openStore(link); err == nil {
		t.Errorf("opened: %v", s.close())
	}
}
