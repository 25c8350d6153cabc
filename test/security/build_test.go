// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"certrotation.dev/test/cluster"
)

// edit replaces a text in a file of the repository. The text must occur there exactly once.
type edit struct {
	file, old, new string
}

// overlay writes the edited files and returns the file for go's flag -overlay.
func overlay(t *testing.T, edits []edit) string {
	t.Helper()
	root, dir := repository(t), t.TempDir()
	replaced := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.file)
		text := read(t, path)
		if former, again := replaced[path]; again {
			text = read(t, former)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("the text %q stands %d times in %s: the border was moved, and its mutant has to follow", e.old, n, e.file)
		}
		replaced[path] = filepath.Join(dir, strings.ReplaceAll(e.file, "/", "_"))
		write(t, replaced[path], strings.Replace(text, e.old, e.new, 1))
	}
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	write(t, file, string(list))
	return file
}

// program builds certrotation with edits, as `make build` does, and returns its path.
func program(t *testing.T, edits []edit) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "certrotation")
	run(t, "go", "build", "-trimpath", "-buildvcs=false", "-overlay="+overlay(t, edits), "-o", path, "./cmd/certrotation")
	return path
}

// run runs a command in the repository, which must succeed.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := command(t, name, args...); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func command(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = repository(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
