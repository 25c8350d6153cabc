// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workernodes

import (
	"testing"

	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// KeepLogs keeps the logs of every process and the API objects of the sample, to analyze a failed test.
func (c *Cluster) KeepLogs(t testing.TB) {
	t.Helper()
	from := c.Network.LogDirs()
	from[c.Installation.Cluster.LogDir()] = ""
	if kept := cluster.KeepLogs(t, "", from); kept != "" {
		c.KeepAnswers(t, kept, SampleNamespace, map[string][]string{
			"nodes.yaml":    {"get", "nodes", "-o", "yaml"},
			"events.txt":    {"get", "events", "--sort-by=.metadata.creationTimestamp", "-o", "wide"},
			"pods.txt":      {"get", "pods", "-o", "wide"},
			"workloads.txt": {"describe", "deployments,pods"},
			"rows.yaml":     {"get", "certificaterotations,bundlestatuses", "-o", "yaml"},
		})
		for _, namespace := range append([]string{installation.Namespace, WebhookNamespace}, HostedNamespaces...) {
			c.KeepAnswers(t, kept, namespace, map[string][]string{
				namespace + "-events.txt":    {"get", "events", "--sort-by=.metadata.creationTimestamp", "-o", "wide"},
				namespace + "-workloads.txt": {"describe", "statefulsets,deployments,pods"},
				namespace + "-rows.yaml":     {"get", "certificaterotations,bundlestatuses,rotationrecords", "-o", "yaml"},
			})
		}
	}
}
