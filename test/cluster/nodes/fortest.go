// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"path/filepath"
	"testing"

	"certrotation.dev/test/cluster"
)

// Require skips t if the machine cannot run nodes, and says why.
func Require(t testing.TB) {
	t.Helper()
	if err := Supported(); err != nil {
		t.Skipf("SKIPPED %s: %v", t.Name(), err)
	}
}

// ForTest starts a network for t and stops it at the end of t. It skips t if the machine cannot run nodes. t fails if
// the nodes do not start, or if one of their processes ends by itself. The logs of a failed test are kept in
// .local/test-logs/TEST of the repository. Config.Dir may be empty.
func ForTest(t testing.TB, cfg Config) *Network {
	t.Helper()
	Require(t)
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

// keepLogs copies the logs of the nodes' processes and containers before the test's directory is removed.
func (w *Network) keepLogs(t testing.TB) {
	from := map[string]string{}
	for _, n := range w.Nodes() {
		from[filepath.Join(n.dir, "logs")] = filepath.Join(n.name, "logs")
		from[n.Path("/var/log/pods")] = filepath.Join(n.name, "pods")
	}
	cluster.KeepLogs(t, "-nodes", from)
}
