// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"k8s.io/component-base/metrics"

	"certrotation.dev/registry/trust"
)

// meters count restarts and writes, and export the held workloads at scrape time.
type meters struct {
	metrics.BaseStableCollector

	memory   *memory
	restarts *metrics.CounterVec
	writes   *metrics.CounterVec
	held     *metrics.Desc
}

var _ metrics.StableCollector = (*meters)(nil)

func newMeters(m *memory) *meters {
	return &meters{
		memory: m,
		restarts: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "certrotation", Name: "workload_restarts_total", StabilityLevel: metrics.ALPHA,
			Help: "Restarts of workloads that do not reload, by namespace and kind (Deployment, StatefulSet, DaemonSet).",
		}, []string{"namespace", "kind"}),
		writes: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "certrotation", Name: "workload_writes_total", StabilityLevel: metrics.ALPHA,
			Help: "Write requests for restarts of workloads and for records of what holds them up, by resource and result (done, conflict, error).",
		}, []string{"resource", "result"}),
		held: metrics.NewDesc("certrotation_workload_restarts_held",
			"Workloads that have to be restarted and wait for a person, as a number, by namespace.",
			[]string{"namespace"}, nil, metrics.ALPHA, ""),
	}
}

func (m *meters) register(r metrics.KubeRegistry) {
	r.MustRegister(m.restarts, m.writes)
	r.CustomMustRegister(m)
}

// DescribeWithStability implements metrics.StableCollector.
func (m *meters) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- m.held }

// CollectWithStability implements metrics.StableCollector.
func (m *meters) CollectWithStability(ch chan<- metrics.Metric) {
	for namespace, count := range m.memory.held() {
		ch <- metrics.NewLazyConstMetric(m.held, metrics.GaugeValue, float64(count), namespace)
	}
}

func (m *meters) restarted(namespace string, kind trust.WorkloadKind) {
	m.restarts.WithLabelValues(namespace, string(kind)).Inc()
}

func (m *meters) wrote(_, resource, result string) {
	m.writes.WithLabelValues(resource, result).Inc()
}
