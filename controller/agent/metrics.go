// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	componentmetrics "k8s.io/component-base/metrics"

	"certrotation.dev/controller/reload"
)

// Registry registers metrics, such as a metrics.KubeRegistry.
type Registry interface {
	MustRegister(metrics ...componentmetrics.Registerable)
}

type metrics struct {
	problems *componentmetrics.GaugeVec
	reloads  *componentmetrics.CounterVec
	expires  *componentmetrics.Gauge
}

func newMetrics(registry Registry) *metrics {
	m := &metrics{
		problems: componentmetrics.NewGaugeVec(&componentmetrics.GaugeOpts{
			Namespace: "certrotation", Subsystem: "agent", Name: "problems", StabilityLevel: componentmetrics.ALPHA,
			Help: "1 while there is a problem of this reason, 0 while there is none; /readyz has its text.",
		}, []string{"reason"}),
		reloads: componentmetrics.NewCounterVec(&componentmetrics.CounterOpts{
			Namespace: "certrotation", Subsystem: "agent", Name: "reloads_total", StabilityLevel: componentmetrics.ALPHA,
			Help: "Reloads that the program was asked for, by their result: done or error.",
		}, []string{"result"}),
		expires: componentmetrics.NewGauge(&componentmetrics.GaugeOpts{
			Namespace: "certrotation", Subsystem: "agent", Name: "acknowledged_until_timestamp_seconds", StabilityLevel: componentmetrics.ALPHA,
			Help: "When the last report ends that the API server has accepted, 0 before the first.",
		}),
	}
	registry.MustRegister(m.problems, m.reloads, m.expires)
	return m
}

func (m *metrics) reloaded(err error) {
	result := "done"
	if err != nil {
		result = "error"
	}
	m.reloads.WithLabelValues(result).Inc()
}

func (m *metrics) set(problems map[part]*reload.Problem, expires time.Time) {
	there := map[reload.Reason]bool{}
	for _, problem := range problems {
		there[problem.Reason] = true
	}
	for _, reason := range reasons {
		value := 0.0
		if there[reason] {
			value = 1
		}
		m.problems.WithLabelValues(string(reason)).Set(value)
	}
	if !expires.IsZero() {
		m.expires.Set(float64(expires.Unix()))
	}
}
