// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ForTest starts a cluster for t and stops it at the end of t. It fails t when the cluster cannot start, as it does when
// the tools are not built (run `make tools`), and when one of its processes ended by itself. The logs of a failed test are
// kept in .local/test-logs/TEST of the repository. Each option may change the Config.
func ForTest(t testing.TB, options ...func(*Config)) *Cluster {
	t.Helper()
	cfg := Config{Dir: t.TempDir()}
	for _, option := range options {
		option(&cfg)
	}
	t.Cleanup(func() {
		if t.Failed() {
			keepLogs(t, cfg.Dir)
		}
	})
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Err(); err != nil {
			t.Errorf("a process of the cluster did not live as long as the test: %v", err)
		}
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return c
}

// WithControllerManager is an option of ForTest: see Config.ControllerManager.
func WithControllerManager(cfg *Config) { cfg.ControllerManager = true }

// keepLogs copies the logs out of the test's directory, which is about to be removed. They replace those of the last failure.
func keepLogs(t testing.TB, dir string) {
	root, err := RepositoryRoot()
	if err != nil {
		t.Logf("the logs are lost: %v", err)
		return
	}
	kept := filepath.Join(root, ".local", "test-logs", strings.ReplaceAll(t.Name(), "/", "_"))
	if err := os.RemoveAll(kept); err != nil {
		t.Logf("remove the logs of the last failure: %v", err)
		return
	}
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(dir, "logs"))); err != nil {
		t.Logf("keep the logs: %v", err)
		return
	}
	t.Logf("the logs are in %s", kept)
}
