// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"certrotation.dev/test/cluster"
)

// KeepLogs keeps, for who looks at a failed test, the logs of everything that runs, and what the API says of the namespace
// of etcd.
func (c *Cluster) KeepLogs(t testing.TB) {
	t.Helper()
	from := map[string]string{c.Installation.Cluster.LogDir(): "", c.path("supervisor", "logs"): "supervisor"}
	for _, node := range c.Network.Nodes() {
		from[filepath.Dir(node.LogFile("kubelet"))] = node.Name()
		from[node.Path("/var/log/pods")] = node.Name() + "-pods"
	}
	kept := cluster.KeepLogs(t, "", from)
	if kept == "" {
		return
	}
	for name, args := range map[string][]string{
		"events.txt": {"get", "events", "--sort-by=.metadata.creationTimestamp", "-o", "wide"},
		"pods.yaml":  {"get", "pods", "-o", "yaml"},
		"rows.txt":   {"get", "certificaterotations,bundlestatuses", "-o", "wide"},
		"rows.yaml":  {"get", "certificaterotations,bundlestatuses", "-o", "yaml"},
		"maps.yaml":  {"get", "configmaps", "-o", "yaml"},
	} {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		out, err := c.Kubectl(ctx, append([]string{"-n", Namespace}, args...)...)
		cancel()
		if err != nil {
			out += err.Error()
		}
		if err := os.WriteFile(filepath.Join(kept, name), []byte(out), 0o600); err != nil {
			t.Logf("keep %s: %v", name, err)
		}
	}
}
