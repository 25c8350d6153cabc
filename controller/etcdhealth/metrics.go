// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"time"

	"k8s.io/component-base/metrics"

	"certrotation.dev/registry/quorum"
)

// Registry is where metrics are registered, such as a metrics.KubeRegistry.
type Registry interface {
	MustRegister(metrics ...metrics.Registerable)
}

const metricsNamespace = "certrotation"

type meters struct {
	seconds         *metrics.HistogramVec
	healthy, voters *metrics.GaugeVec
}

func newMeters() *meters {
	labels := []string{"namespace"}
	return &meters{
		seconds: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Namespace: metricsNamespace, Name: "quorum_check_duration_seconds", StabilityLevel: metrics.ALPHA,
			Help:    "Duration of checks that ask all members of an etcd cluster.",
			Buckets: metrics.ExponentialBuckets(0.005, 2, 12),
		}, labels),
		healthy: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Namespace: metricsNamespace, Name: "quorum_healthy_voters", StabilityLevel: metrics.ALPHA,
			Help: "Voters of an etcd cluster through which a linearizable read succeeded when they were last asked.",
		}, labels),
		voters: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Namespace: metricsNamespace, Name: "quorum_voters", StabilityLevel: metrics.ALPHA,
			Help: "Voters of an etcd cluster by its own list, 0 if no member told when they were last asked.",
		}, labels),
	}
}

func (m *meters) register(r Registry) { r.MustRegister(m.seconds, m.healthy, m.voters) }

func (m *meters) checked(namespace string, o quorum.Observation, took time.Duration) {
	healthy := 0
	for i := range o.Members {
		if o.Members[i].Voter && o.Members[i].Healthy {
			healthy++
		}
	}
	m.seconds.WithLabelValues(namespace).Observe(took.Seconds())
	m.healthy.WithLabelValues(namespace).Set(float64(healthy))
	m.voters.WithLabelValues(namespace).Set(float64(len(o.Voters)))
}

func (m *meters) forget(namespace string) {
	labels := map[string]string{"namespace": namespace}
	m.seconds.Delete(labels)
	m.healthy.Delete(labels)
	m.voters.Delete(labels)
}
