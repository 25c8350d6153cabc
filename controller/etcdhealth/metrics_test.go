// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"strings"
	"testing"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/quorum"
	"certrotation.dev/test/apifake"
)

func TestMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	c, err := New(Config{Client: apifake.New(t, clock.RealClock{}).Client, Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	c.meters.checked("etcd", quorum.Observation{
		Members: []quorum.Member{{Voter: true, Healthy: true}, {Voter: true}, {Learner: true, Healthy: true}}, Voters: []uint64{1, 2},
	}, time.Second)
	names := []string{"certrotation_quorum_voters", "certrotation_quorum_healthy_voters"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP certrotation_quorum_healthy_voters [ALPHA] Voters of an etcd cluster through which a linearizable read succeeded when they were last asked.
# TYPE certrotation_quorum_healthy_voters gauge
certrotation_quorum_healthy_voters{namespace="etcd"} 1
# HELP certrotation_quorum_voters [ALPHA] Voters of an etcd cluster by its own list, 0 if no member told when they were last asked.
# TYPE certrotation_quorum_voters gauge
certrotation_quorum_voters{namespace="etcd"} 2
`), names...); err != nil {
		t.Error(err)
	}
	c.Forget("etcd")
	if err := testutil.GatherAndCompare(registry, strings.NewReader(""), append(names, "certrotation_quorum_check_duration_seconds")...); err != nil {
		t.Error(err)
	}
}
