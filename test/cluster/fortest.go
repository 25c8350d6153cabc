// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"certrotation.dev/test/cluster/heldport"
)

// ForTest starts a cluster for t and stops it at the end of t. t fails if the cluster cannot start, for example
// because the tools are not built (run `make tools`). t also fails if one of its processes ends by itself. The logs
// of a failed test are kept in .local/test-logs/TEST of the repository. Each option may change the Config.
func ForTest(t testing.TB, options ...func(*Config)) *Cluster {
	t.Helper()
	cfg := Config{Dir: t.TempDir()}
	for _, option := range options {
		option(&cfg)
	}
	holdPorts(t, &cfg)
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

// holdPorts reserves the ports of a new cluster, so that no other program takes them while a process restarts.
func holdPorts(t testing.TB, cfg *Config) {
	t.Helper()
	if _, err := os.Stat(portsFile(cfg.Dir)); err == nil || cfg.Balanced || cfg.Address != "" || cfg.ExternalURL != "" {
		return
	}
	held := ports{Etcd: heldport.Take(t), EtcdPeer: heldport.Take(t), APIServer: heldport.Take(t), ControllerManager: heldport.Take(t)}
	if err := held.save(cfg.Dir); err != nil {
		t.Fatal(err)
	}
	cfg.EtcdFlags = append(cfg.EtcdFlags, "--socket-reuse-port=true")
	cfg.APIServerFlags = append(cfg.APIServerFlags, "--permit-port-sharing=true")
	cfg.ControllerManagerFlags = append(cfg.ControllerManagerFlags, "--permit-port-sharing=true")
}

// WithControllerManager is an option of ForTest: see Config.ControllerManager.
func WithControllerManager(cfg *Config) { cfg.ControllerManager = true }
