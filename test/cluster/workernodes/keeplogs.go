// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"certrotation.dev/test/cluster"
)

// KeepLogs keeps, for who looks at a failed test, the logs of everything that runs, and what the API says of the sample.
func (c *Cluster) KeepLogs(t testing.TB) {
	t.Helper()
	from := map[string]string{c.Installation.Cluster.LogDir(): ""}
	for _, node := range c.Network.Nodes() {
		from[filepath.Dir(node.LogFile("kubelet"))] = node.Name()
		from[node.Path("/var/log/pods")] = node.Name() + "-pods"
	}
	kept := cluster.KeepLogs(t, "", from)
	if kept == "" {
		return
	}
	for name, args := range map[string][]string{
		"nodes.yaml":    {"get", "nodes", "-o", "yaml"},
		"events.txt":    {"get", "events", "--sort-by=.metadata.creationTimestamp", "-o", "wide"},
		"pods.txt":      {"get", "pods", "-o", "wide"},
		"workloads.txt": {"describe", "deployments,pods"},
		"rows.yaml":     {"get", "certificaterotations,bundlestatuses", "-o", "yaml"},
	} {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		out, err := c.Kubectl(ctx, append([]string{"-n", SampleNamespace}, args...)...)
		cancel()
		if err != nil {
			out += err.Error()
		}
		if err := os.WriteFile(filepath.Join(kept, name), []byte(out), 0o600); err != nil {
			t.Logf("keep %s: %v", name, err)
		}
	}
}
