// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// KeepLogs copies the logs of a failed test to .local/test-logs/TEST of the repository, before their directories are
// removed. It replaces the logs of the last failure. from maps each directory to its name there; missing ones are
// skipped. It returns the path of the copy.
func KeepLogs(t testing.TB, suffix string, from map[string]string) string {
	t.Helper()
	root, err := RepositoryRoot()
	if err != nil {
		t.Logf("the logs are lost: %v", err)
		return ""
	}
	kept := filepath.Join(root, ".local", "test-logs", strings.ReplaceAll(t.Name(), "/", "_")+suffix)
	if err := os.RemoveAll(kept); err != nil {
		t.Logf("remove the logs of the last failure: %v", err)
		return ""
	}
	for dir, to := range from {
		if err := os.CopyFS(filepath.Join(kept, to), os.DirFS(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Logf("keep the logs in %s: %v", dir, err)
		}
	}
	t.Logf("the logs are in %s", kept)
	return kept
}
