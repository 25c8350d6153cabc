// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"certrotation.dev/test/cluster"
)

// ForTest starts a network for t and stops it at the end of t. It skips t, saying why, where the machine cannot run nodes,
// and fails it when they do not start, or when a process of theirs ended by itself. The logs of a failed test are kept in
// .local/test-logs/TEST of the repository. Config.Dir may be empty.
func ForTest(t testing.TB, cfg Config) *Network {
	t.Helper()
	if err := Supported(); err != nil {
		t.Skipf("SKIPPED %s: %v", t.Name(), err)
	}
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	w, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Err(); err != nil {
			t.Errorf("a process of the nodes did not live as long as the test: %v", err)
		}
		if err := w.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop the nodes: %v", err)
		}
		if t.Failed() {
			w.keepLogs(t)
		}
	})
	return w
}

// keepLogs copies the logs of the nodes' processes and containers out of the test's directory.
func (w *Network) keepLogs(t testing.TB) {
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Logf("the logs are lost: %v", err)
		return
	}
	kept := filepath.Join(root, ".local", "test-logs", strings.ReplaceAll(t.Name(), "/", "_")+"-nodes")
	if err := os.RemoveAll(kept); err != nil {
		t.Logf("remove the logs of the last failure: %v", err)
		return
	}
	for _, n := range w.Nodes() {
		for from, to := range map[string]string{filepath.Join(n.dir, "logs"): "logs", n.Path("/var/log/pods"): "pods"} {
			if !exists(from) {
				continue
			}
			if err := os.CopyFS(filepath.Join(kept, n.name, to), os.DirFS(from)); err != nil {
				t.Logf("keep the logs of node %s: %v", n.name, err)
			}
		}
	}
	t.Logf("the logs of the nodes are in %s", kept)
}
