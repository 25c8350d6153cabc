// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"path/filepath"
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
			KeepLogs(t, "", map[string]string{filepath.Join(cfg.Dir, "logs"): ""})
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
