// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"certrotation.dev/registry/edition"
)

// EventSecretChanged is the reason of events about Secrets; their action is the action of the step.
const EventSecretChanged = "SecretChanged"

// announce counts a step, and reports it unless the Secret was kept: what is kept is only in the plan.
func (i *Instance) announce(step *edition.Step) {
	if i.settings.planOnly {
		return
	}
	i.settings.metrics.count(step.Action)
	if step.Action == edition.Keep {
		return
	}
	message := "Changed secret"
	if step.Action == edition.Hold {
		message = "Held secret"
	}
	i.log.Info(message, "action", step.Action, "secret", klog.KRef(step.Object.Namespace, step.Object.Name), "reason", step.Reason)
	if i.settings.recorder == nil {
		return
	}
	i.settings.recorder.Eventf(i.settings.regarding, nil, corev1.EventTypeNormal, EventSecretChanged, string(step.Action), "%s", step.String())
}

// Metrics count what instances do. Make them once per process, with NewMetrics.
type Metrics struct {
	steps    *metrics.CounterVec
	failures *metrics.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(registry metrics.KubeRegistry) *Metrics {
	m := &Metrics{
		steps: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: "certrotation", Subsystem: "secrets", Name: "steps_total", StabilityLevel: metrics.ALPHA,
			Help: "Secrets that instances of the library have looked at, by what was done (create, adopt, change, keep, hold, delete).",
		}, []string{"action"}),
		failures: metrics.NewCounter(&metrics.CounterOpts{
			Namespace: "certrotation", Subsystem: "secrets", Name: "failures_total", StabilityLevel: metrics.ALPHA,
			Help: "Secrets that could not be generated.",
		}),
	}
	registry.MustRegister(m.steps, m.failures)
	return m
}

func (m *Metrics) count(action edition.Action) {
	if m != nil {
		m.steps.WithLabelValues(string(action)).Inc()
	}
}

func (m *Metrics) failed() {
	if m != nil {
		m.failures.Inc()
	}
}
