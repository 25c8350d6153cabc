// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package stacked

import (
	"testing"

	"certrotation.dev/test/cluster"
)

// KeepLogs keeps the logs of every process and the API objects of etcd's namespace, to analyze a failed test.
func (c *Cluster) KeepLogs(t testing.TB) {
	t.Helper()
	from := c.Network.LogDirs()
	from[c.Installation.Cluster.LogDir()], from[c.path("supervisor", "logs")] = "", "supervisor"
	if kept := cluster.KeepLogs(t, "", from); kept != "" {
		c.KeepAnswers(t, kept, Namespace, map[string][]string{
			"events.txt": {"get", "events", "--sort-by=.metadata.creationTimestamp", "-o", "wide"},
			"pods.yaml":  {"get", "pods", "-o", "yaml"},
			"rows.txt":   {"get", "certificaterotations,bundlestatuses", "-o", "wide"},
			"rows.yaml":  {"get", "certificaterotations,bundlestatuses", "-o", "yaml"},
			"maps.yaml":  {"get", "configmaps", "-o", "yaml"},
		})
	}
}
