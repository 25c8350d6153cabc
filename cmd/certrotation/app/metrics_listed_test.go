// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	endpoints "k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as in the program
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection"
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
)

var update = flag.Bool("update", false, "write the golden file")

// ofLibraries are the metrics of the libraries that the alerts and the dashboard use, with their kinds.
var ofLibraries = map[string]string{
	"apiserver_request_total":              "counter",
	"leader_election_master_status":        "gauge",
	"process_resident_memory_bytes":        "gauge",
	"process_start_time_seconds":           "gauge",
	"rest_client_request_duration_seconds": "histogram",
	"rest_client_requests_total":           "counter",
	"workqueue_depth":                      "gauge",
}

// useTheLibraries uses them as the programs do. Some metrics are registered only by the first use.
func useTheLibraries(t *testing.T) {
	t.Helper()
	endpoints.Register()
	clientmetrics.EnsureRegistered()
	workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "test"}).ShutDown()
	_, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: "test", LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: time.Second,
		Lock:      &resourcelock.LeaseLock{LockConfig: resourcelock.ResourceLockConfig{Identity: "test"}},
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	must(t, err)
}

// TestMetricsAreListed compares all metrics with testdata/metrics.txt, by kind and labels. hack/tools/prometheus
// checks alerts and dashboard against this file, so it finds uses of a renamed metric.
func TestMetricsAreListed(t *testing.T) {
	useTheLibraries(t)
	registered, ok := legacyregistry.Registerer().(prometheus.Collector)
	if !ok {
		t.Fatal("the registry of the libraries describes nothing")
	}
	libraries := &described{}
	libraries.add("", registered.Describe)
	all := ofThePrograms(t)
	for _, m := range libraries.all {
		if m.kind = ofLibraries[m.name]; m.kind != "" {
			all = append(all, m)
		}
	}
	var lines []string
	for _, m := range all {
		slices.Sort(m.labels)
		lines = append(lines, fmt.Sprintf("%s %s {%s}\n", m.name, m.kind, strings.Join(m.labels, ", ")))
	}
	slices.Sort(lines)
	got := strings.Join(slices.Compact(lines), "")
	for name := range ofLibraries {
		if !strings.Contains(got, name+" ") {
			t.Errorf("no library has %s any more", name)
		}
	}

	golden := filepath.Join("testdata", "metrics.txt")
	if *update {
		must(t, os.MkdirAll("testdata", 0o750))
		must(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("metrics have changed; alerts and dashboards of others may use them. If that is meant: go test ./cmd/certrotation/app -update (-want +got):\n%s", diff)
	}
}
