// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import "k8s.io/component-base/metrics"

// meters count writes, and collect the held targets at the time of a scrape.
type meters struct {
	metrics.BaseStableCollector

	memory *memory
	writes *metrics.CounterVec
	held   *metrics.Desc
}

var _ metrics.StableCollector = (*meters)(nil)

func newMeters(m *memory) *meters {
	return &meters{
		memory: m,
		writes: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "certrotation", Name: "cabundle_writes_total", StabilityLevel: metrics.ALPHA,
			Help: "Write requests for CA bundles of webhook configurations, APIServices, CustomResourceDefinitions and ClusterTrustBundles, by resource and result (done, conflict, error).",
		}, []string{"resource", "result"}),
		held: metrics.NewDesc("certrotation_cabundle_targets_held",
			"Objects that ask for a CA bundle and do not follow it, and RotationConfigurations that name targets of a kind that is not served, as a number, by their kind.",
			[]string{"kind"}, nil, metrics.ALPHA, ""),
	}
}

func (m *meters) register(r metrics.KubeRegistry) {
	r.MustRegister(m.writes)
	r.CustomMustRegister(m)
}

// DescribeWithStability implements metrics.StableCollector.
func (m *meters) DescribeWithStability(ch chan<- *metrics.Desc) { ch <- m.held }

// CollectWithStability implements metrics.StableCollector.
func (m *meters) CollectWithStability(ch chan<- metrics.Metric) {
	for kind, count := range m.memory.held() {
		ch <- metrics.NewLazyConstMetric(m.held, metrics.GaugeValue, float64(count), kind)
	}
}

func (m *meters) wrote(_, resource, result string) {
	m.writes.WithLabelValues(resource, result).Inc()
}
