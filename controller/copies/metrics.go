// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import "k8s.io/component-base/metrics"

// meters count writes, and collect the held copies at the time of a scrape.
type meters struct {
	metrics.BaseStableCollector

	memory   *memory
	clusters Clusters
	writes   *metrics.CounterVec
	held     *metrics.Desc
	silent   *metrics.Desc
}

var _ metrics.StableCollector = (*meters)(nil)

func newMeters(m *memory, clusters Clusters) *meters {
	return &meters{
		memory: m, clusters: clusters,
		writes: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "certrotation", Name: "copy_writes_total", StabilityLevel: metrics.ALPHA,
			Help: "Write requests for copies, by resource and result (done, conflict, error).",
		}, []string{"resource", "result"}),
		held: metrics.NewDesc("certrotation_copies_held",
			"Copies of bundles and leaves that do not follow their source, as a number, by the namespace of the sources.",
			[]string{"namespace"}, nil, metrics.ALPHA, ""),
		silent: metrics.NewDesc("certrotation_copy_clusters_silent",
			"Other clusters with copies that do not answer, as a number, by the namespace of the sources.",
			[]string{"namespace"}, nil, metrics.ALPHA, ""),
	}
}

func (m *meters) register(r metrics.KubeRegistry) {
	r.MustRegister(m.writes)
	r.CustomMustRegister(m)
}

// DescribeWithStability implements metrics.StableCollector.
func (m *meters) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- m.held
	ch <- m.silent
}

// CollectWithStability implements metrics.StableCollector.
func (m *meters) CollectWithStability(ch chan<- metrics.Metric) {
	for namespace, count := range m.memory.held() {
		ch <- metrics.NewLazyConstMetric(m.held, metrics.GaugeValue, float64(count), namespace)
	}
	if m.clusters == nil {
		return
	}
	for namespace, count := range m.clusters.Silent() {
		ch <- metrics.NewLazyConstMetric(m.silent, metrics.GaugeValue, float64(count), namespace)
	}
}

func (m *meters) wrote(_, resource, result string) {
	m.writes.WithLabelValues(resource, result).Inc()
}
