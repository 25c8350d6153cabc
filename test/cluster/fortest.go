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

// ForTest starts a cluster for t and stops it at the end of t. It fails t when the cluster cannot start, as it does when
// the tools are not built (run `make tools`), and when one of its processes ended by itself. The logs of a failed test are
// kept in .local/test-logs/TEST of the repository. Each option may change the Config.
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

// holdPorts keeps the ports of a new cluster for it, whatever a test does with its processes.
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
