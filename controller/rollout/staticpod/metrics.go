// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/rollout"
)

const (
	metricsNamespace = "certrotation"
	metricsSubsystem = "rollout"
)

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
		writes: counter("writes_total", "Write requests of rollouts to the API server, by verb, resource and result (done, conflict, error).",
			"verb", "resource", "result"),
		statuses: newStatusCollector(m, c),
	}
}

func (m *meters) register(r metrics.KubeRegistry) {
	r.MustRegister(m.attempts, m.failures, m.restarts, m.writes)
	r.CustomMustRegister(m.statuses)
}

func (m *meters) started(of id, action *rollout.Action) {
	m.attempts.WithLabelValues(of.namespace, of.name, action.Node).Inc()
	if action.Disturbs {
		m.restarts.WithLabelValues(of.namespace, of.name, action.Node).Inc()
	}
}

// changed counts the installer failures that are new in after.
func (m *meters) changed(of id, before, after *rollout.Status) {
	for _, e := range rollout.Events(of.name, before, after) {
		if e.Reason == rollout.EventInstallerPodFailed {
			m.failures.WithLabelValues(of.namespace, of.name, e.Action).Inc()
		}
	}
}

func (m *meters) wrote(verb, resource, result string) {
	m.writes.WithLabelValues(verb, resource, result).Inc()
}

// statusCollector exports the status of every rollout at scrape time.
type statusCollector struct {
	metrics.BaseStableCollector

	memory *memory
	clock  clock.PassiveClock

	latest, current, pending, blockers, blocked, condition *metrics.Desc
}

var _ metrics.StableCollector = (*statusCollector)(nil)

func newStatusCollector(m *memory, c clock.PassiveClock) *statusCollector {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(metricsNamespace+"_"+metricsSubsystem+"_"+name, help, append([]string{"namespace", "rollout"}, labels...),
			nil, metrics.ALPHA, "")
	}
	return &statusCollector{
		memory: m, clock: c,
		latest:    desc("latest_revision", "The newest complete revision."),
		current:   desc("current_revision", "The revision that runs on a node, 0 if that is none that is known.", "node"),
		pending:   desc("pending_seconds", "How long a node has not had the latest revision, 0 if it has.", "node"),
		blockers:  desc("blockers", "What the rollout waits for, as a number, by reason.", "reason"),
		blocked:   desc("blocked_seconds", "How long the rollout has waited for the same at most, by reason.", "reason"),
		condition: desc("condition", "1 if a condition is true, 0 if it is not.", "condition"),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (s *statusCollector) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{s.latest, s.current, s.pending, s.blockers, s.blocked, s.condition} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (s *statusCollector) CollectWithStability(ch chan<- metrics.Metric) {
	gauge := func(d *metrics.Desc, value float64, labels ...string) {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, value, labels...)
	}
	now := s.clock.Now()
	for of, status := range s.memory.statuses() {
		gauge(s.latest, float64(status.LatestAvailableRevision), of.namespace, of.name)
		for i := range status.Nodes {
			n := &status.Nodes[i]
			gauge(s.current, float64(n.CurrentRevision), of.namespace, of.name, n.Name)
			pending := 0.0
			if n.PendingSince != nil {
				pending = now.Sub(*n.PendingSince).Seconds()
			}
			gauge(s.pending, pending, of.namespace, of.name, n.Name)
		}
		counts, longest := map[string]int{}, map[string]float64{}
		for i := range status.Blockers {
			reason := string(status.Blockers[i].Reason)
			counts[reason]++
			longest[reason] = max(longest[reason], now.Sub(status.Blockers[i].Since).Seconds())
		}
		for reason, count := range counts {
			gauge(s.blockers, float64(count), of.namespace, of.name, reason)
			gauge(s.blocked, longest[reason], of.namespace, of.name, reason)
		}
		for i := range status.Conditions {
			value := 0.0
			if status.Conditions[i].Status {
				value = 1
			}
			gauge(s.condition, value, of.namespace, of.name, status.Conditions[i].Type)
		}
	}
}
