// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"certrotation.dev/test/cluster"
)

const nextVersion = "v0.1.1-next"

// nextBuild builds an image of this source with another version, imports it into the nodes, and returns its name.
func (s *system) nextBuild(t *testing.T) string {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	// The archive stays, because a node that joins later imports all images.
	dir := filepath.Join(s.dir, "next-build")
	build := exec.CommandContext(t.Context(), "go", "run", "./hack/image", "--version="+nextVersion, "--commit=next", "--date=2026-01-01T00:00:00Z",
		"--ldflags=-s -w -X k8s.io/component-base/version.gitVersion="+nextVersion, "--platforms=linux/"+runtime.GOARCH, "--output-dir="+dir)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build another version: %v\n%s", err, out)
	}
	if err := s.Network.Import(t.Context(), filepath.Join(dir, "certrotation.tar")); err != nil {
		t.Fatal(err)
	}
	return "certrotation.dev/certrotation@" + strings.TrimSpace(string(read(t, filepath.Join(dir, "digest"))))
}
