// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
)

// Registry is where metrics are registered, such as a metrics.KubeRegistry.
type Registry interface {
	MustRegister(metrics ...metrics.Registerable)
	CustomMustRegister(collectors ...metrics.StableCollector)
}

const metricsNamespace = "certrotation"

// Results of actions and writes.
const (
	resultDone     = "done"
	resultConflict = "conflict"
	resultError    = "error"
)

// meters count what the controller does.
type meters struct {
	actions *metrics.CounterVec
	seconds *metrics.HistogramVec
	writes  *metrics.CounterVec
	stages  *stageCollector
}

func newMeters(r *reports, refused *refusals, c clock.PassiveClock) *meters {
	return &meters{
		actions: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: metricsNamespace, Name: "actions_total", StabilityLevel: metrics.ALPHA,
			Help: "Actions on Secrets, ConfigMaps and records, by kind and result (done, conflict, error).",
		}, []string{"kind", "result"}),
		seconds: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Namespace: metricsNamespace, Name: "action_duration_seconds", StabilityLevel: metrics.ALPHA,
			Help:    "Duration of actions, with the confirmation of those that cannot be undone.",
			Buckets: metrics.ExponentialBuckets(0.001, 2, 15),
		}, []string{"kind"}),
		writes: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: metricsNamespace, Name: "writes_total", StabilityLevel: metrics.ALPHA,
			Help: "Write requests to the API server, by verb, resource and result (done, conflict, error).",
		}, []string{"verb", "resource", "result"}),
		stages: newStageCollector(r, refused, c),
	}
}

func (m *meters) register(r Registry) {
	r.MustRegister(m.actions, m.seconds, m.writes)
	r.CustomMustRegister(m.stages)
}

func (m *meters) observe(kind trust.ActionKind, err error, took time.Duration) {
	m.actions.WithLabelValues(string(kind), result(err)).Inc()
	m.seconds.WithLabelValues(string(kind)).Observe(took.Seconds())
}

func (m *meters) wrote(verb, resource string, err error) {
	m.writes.WithLabelValues(verb, resource, result(err)).Inc()
}

func result(err error) string {
	switch {
	case err == nil:
		return resultDone
	case benign(err):
		return resultConflict
	}
	return resultError
}
