// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"testing"
	"time"

	"certrotation.dev/test/cluster/nodes"
)

func TestNodes(t *testing.T) {
	begun := time.Now()
	w := nodes.ForTest(t, nodes.Config{Names: []string{"a", "b", "c"}, Progress: t.Output()})
	t.Logf("three nodes after %.1f s", time.Since(begun).Seconds())
	out, err := w.Node("a").Exec(t.Context(), "sh", "-c", "hostname; ps ax; mount; ip addr; df -h /; ls -la / /opt/node/bin")
	t.Log(out, err)
}
