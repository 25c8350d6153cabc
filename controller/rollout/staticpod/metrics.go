// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/rollout"
)

// Registry is where metrics are registered, such as a metrics.KubeRegistry.
type Registry interface {
	MustRegister(metrics ...metrics.Registerable)
	CustomMustRegister(collectors ...metrics.StableCollector)
}

const (
	metricsNamespace = "certrotation"
	metricsSubsystem = "rollout"
)

// meters count what the controller does.
type meters struct {
	attempts *metrics.CounterVec
	failures *metrics.CounterVec
	restarts *metrics.CounterVec
	writes   *metrics.CounterVec
	statuses *statusCollector
}

func newMeters(m *memory, c clock.PassiveClock) *meters {
	counter := func(name, help string, labels ...string) *metrics.CounterVec {
		return metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: name, Help: help, StabilityLevel: metrics.ALPHA,
		}, labels)
	}
	return &meters{
		attempts: counter("installer_attempts_total", "Installer pods that were started.", "namespace", "rollout", "node"),
		failures: counter("installer_failures_total", "Installer pods that have failed.", "namespace", "rollout", "node"),
		restarts: counter("restarts_initiated_total", "Installer pods that were started to restart the static pod.", "namespace", "rollout", "node"),
		writes: counter("writes_total", "Write requests to the API server, by verb, resource and result (done, conflict, error).",
			"verb", "resource", "result"),
		statuses: newStatusCollector(m, c),
	}
}

func (m *meters) register(r Registry) {
	r.MustRegister(m.attempts, m.failures, m.restarts, m.writes)
	r.CustomMustRegister(m.statuses)
}

func (m *meters) started(of id, action *rollout.Action) {
	m.attempts.WithLabelValues(of.namespace, of.name, action.Node).Inc()
	if action.Disturbs {
		m.restarts.WithLabelValues(of.namespace, of.name, action.Node).Inc()
	}
}

// changed counts the failures that are new.
func (m *meters) changed(of id, before, after *rollout.Status) {
	for _, e := range rollout.Events(of.name, before, after) {
		if e.Reason == rollout.EventInstallerPodFailed {
			m.failures.WithLabelValues(of.namespace, of.name, e.Action).Inc()
		}
	}
}

func (m *meters) wrote(verb, resource string, err error) {
	result := "done"
	switch {
	case err == nil:
	case benign(err):
		result = "conflict"
	default:
		result = "error"
	}
	m.writes.WithLabelValues(verb, resource, result).Inc()
}
