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

// KeepLogs copies the logs of a failed test out of directories that are about to be removed, to .local/test-logs/TEST of
// the repository, where it replaces those of the last failure. from names the directory there for each directory; those
// that do not exist are left out. It returns the path of what is kept, "" if that is nothing.
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
