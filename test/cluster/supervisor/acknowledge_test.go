// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"certrotation.dev/generated/clientset/versioned"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newReporter(t *testing.T, api *aggregated, server *apiServer, proven *atomic.Bool, presented *atomic.Pointer[leaf]) *reporter {
	t.Helper()
	client, err := versioned.NewForConfig(&rest.Config{Host: api.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{ReportEvery: time.Hour, Acknowledge: []Target{{Signer: types.NamespacedName{Namespace: "ns", Name: "signer"}, Party: "clients"}}}
	return &reporter{
		client: client, cfg: cfg, servers: []*apiServer{server}, proven: func(string) bool { return proven.Load() },
		leaf: presented.Load, wake: make(chan struct{}, 1), accepted: map[reportKey]Report{},
	}
}

func TestReporter(t *testing.T) {
	api := newAggregated(t, nil)
	started := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	server := &apiServer{Server: Server{Name: "kube-apiserver-0"}, loaded: loaded{trust: &trust{anchors: []string{"aa"}}, startedAt: started, starts: 1}}
	var proven atomic.Bool
	var presented atomic.Pointer[leaf]
	presented.Store(&leaf{fingerprint: "l1"})
	r := newReporter(t, api, server, &proven, &presented)
	expect := func(what string, total int, trusts, presents []string, at time.Time) {
		t.Helper()
		if !r.reportAll(t.Context()) {
			t.Fatalf("%s: not accepted", what)
		}
		if got := api.total(); got != total {
			t.Errorf("%s: %d acknowledgements, want %d", what, got, total)
		}
		ack, _ := api.of("ns/signer/clients/kube-apiserver-0")
		if diff := cmp.Diff([][]string{trusts, presents}, [][]string{ack.Trusts, ack.Presents}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if total == 0 {
			return
		}
		if !ack.StartedAt.Equal(&metav1.MicroTime{Time: at}) || ack.Instance != "kube-apiserver-0" {
			t.Errorf("%s: %s started at %s, want kube-apiserver-0 at %s", what, ack.Instance, ack.StartedAt, at)
		}
		if age := time.Since(ack.ObservedAt.Time); age < 0 || age > time.Minute {
			t.Errorf("%s: observed %s ago, want now", what, age)
		}
	}
	expect("a process that was never ready", 0, nil, nil, started)
	proven.Store(true)
	expect("ready", 1, []string{"aa"}, []string{"l1"}, started)
	expect("nothing new", 1, []string{"aa"}, []string{"l1"}, started)
	presented.Store(&leaf{fingerprint: "l2"})
	expect("another leaf", 2, []string{"aa"}, []string{"l2"}, started)
	if !r.complete() {
		t.Error("everything is accepted, and not complete")
	}
	proven.Store(false)
	server.loaded = loaded{trust: &trust{anchors: []string{"aa", "bb"}}, startedAt: started.Add(time.Minute), starts: 2}
	expect("new trust in a process that was not ready yet", 2, []string{"aa"}, []string{"l2"}, started)
	if r.complete() {
		t.Error("complete, although the new process was not reported")
	}
	proven.Store(true)
	expect("new trust", 3, []string{"aa", "bb"}, []string{"l2"}, started.Add(time.Minute))
	server.loaded = loaded{trust: server.loaded.trust, startedAt: started.Add(time.Hour), starts: 3}
	expect("a restart", 4, []string{"aa", "bb"}, []string{"l2"}, started.Add(time.Hour))
	r.cfg.ReportEvery = 0
	expect("repeated after a while", 5, []string{"aa", "bb"}, []string{"l2"}, started.Add(time.Hour))
}

// TestReporterRetries: another leaf is presented while the aggregated API is away. Only the newest is acknowledged.
func TestReporterRetries(t *testing.T) {
	api := newAggregated(t, nil)
	api.away.Store(true)
	server := &apiServer{Server: Server{Name: "kube-apiserver-0"}, loaded: loaded{trust: &trust{anchors: []string{"aa"}}, startedAt: time.Now(), starts: 1}}
	var proven atomic.Bool
	proven.Store(true)
	var presented atomic.Pointer[leaf]
	presented.Store(&leaf{fingerprint: "l1"})
	r := newReporter(t, api, server, &proven, &presented)
	if r.reportAll(t.Context()) {
		t.Fatal("accepted by nobody")
	}
	if reports, problem := r.reports(); len(reports) != 0 || problem == "" {
		t.Errorf("reports %v, problem %q", reports, problem)
	}
	background(t, r.run)
	presented.Store(&leaf{fingerprint: "l2"})
	r.poke() // As swap does.
	api.away.Store(false)
	w := &smallWorld{t: t}
	w.until("it is acknowledged", func() bool { return r.complete() })
	if ack, _ := api.of("ns/signer/clients/kube-apiserver-0"); !cmp.Equal(ack.Presents, []string{"l2"}) {
		t.Errorf("acknowledged %+v", ack)
	}
	if _, problem := r.reports(); problem != "" {
		t.Errorf("the problem stays: %s", problem)
	}
}
