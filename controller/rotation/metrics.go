// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/trust"
)

const metricsNamespace = "certrotation"

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

func (m *meters) register(r metrics.KubeRegistry) {
	r.MustRegister(m.actions, m.seconds, m.writes)
	r.CustomMustRegister(m.stages)
}

func (m *meters) observe(kind trust.ActionKind, err error, took time.Duration) {
	m.actions.WithLabelValues(string(kind), apply.Result(err)).Inc()
	m.seconds.WithLabelValues(string(kind)).Observe(took.Seconds())
}

func (m *meters) wrote(verb, resource, result string) {
	m.writes.WithLabelValues(verb, resource, result).Inc()
}

// stageCollector exports the status of every domain at scrape time, so that no timer has to update it.
type stageCollector struct {
	metrics.BaseStableCollector

	reports  *reports
	refusals *refusals
	clock    clock.PassiveClock

	stage, stageAge, blockers, blocked, problems, refused, expires, expirationDays, certificate, renewal, anchor *metrics.Desc
}

var _ metrics.StableCollector = (*stageCollector)(nil)

func newStageCollector(r *reports, refused *refusals, c clock.PassiveClock) *stageCollector {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(name, help, labels, nil, metrics.ALPHA, "")
	}
	return &stageCollector{
		reports: r, refusals: refused, clock: c,
		stage: desc("certrotation_rotation_stage",
			"1 for the stage that the rotation of a trust domain is in, 0 for the others.", "namespace", "trust_domain", "stage"),
		stageAge: desc("certrotation_rotation_stage_age_seconds",
			"How long the rotation of a trust domain has been in its stage, 0 for Stable.", "namespace", "trust_domain", "stage"),
		blocked: desc("certrotation_rotation_blocked_seconds",
			"How long the rotation of a trust domain has waited for the same, 0 if it does not wait.", "namespace", "trust_domain"),
		certificate: desc("certrotation_certificate_expiration_timestamp_seconds",
			"When the certificate of a signer or leaf expires, in seconds since 1970. Of a trust domain the 64 that expire first.", "namespace", "trust_domain", "name", "role"),
		renewal: desc("certrotation_certificate_renewal_timestamp_seconds",
			"When the certificate of a signer or leaf is due for renewal, in seconds since 1970. Of a trust domain the 64 that expire first.", "namespace", "trust_domain", "name", "role"),
		anchor: desc("certrotation_anchor_expiration_timestamp_seconds",
			"When an anchor of a bundle expires, in seconds since 1970: of each slot the first.", "namespace", "trust_domain", "slot"),
		blockers: desc("certrotation_rotation_blockers",
			"What the rotation of a trust domain waits for, as a number.", "namespace", "trust_domain"),
		problems: desc("certrotation_object_problems",
			"Objects of a trust domain that only a person can put right, as a number.", "namespace", "trust_domain"),
		refused: desc("certrotation_rotation_refused_writes",
			"Writes for a trust domain, or for the aggregates of a namespace if it is empty, that the API server refuses.",
			"namespace", "trust_domain"),
		expires: desc("certrotation_signer_expiration_timestamp_seconds",
			"When the active CA of a trust domain expires, in seconds since 1970.", "namespace", "trust_domain"),
		expirationDays: desc("openshift_etcd_operator_signer_expiration_days",
			"Days until a signer of OpenShift's etcd expires, under the name of cluster-etcd-operator.", "namespace", "name"),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (s *stageCollector) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{
		s.stage, s.stageAge, s.blockers, s.blocked, s.problems, s.refused, s.expires, s.expirationDays, s.certificate, s.renewal, s.anchor,
	} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (s *stageCollector) CollectWithStability(ch chan<- metrics.Metric) {
	gauge := func(d *metrics.Desc, value float64, labels ...string) {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, value, labels...)
	}
	now := s.clock.Now()
	statuses, refused := s.reports.snapshot(), s.refusals.counts()
	for k, count := range refused {
		// These refusals belong to no domain with a status.
		if _, known := statuses[k]; !known {
			gauge(s.refused, float64(count), k.namespace, k.domain)
		}
	}
	shown := map[string]int{}
	for _, k := range slices.SortedFunc(maps.Keys(statuses), byName) {
		if shown[k.namespace]++; shown[k.namespace] > mostDomains {
			continue
		}
		st := statuses[k]
		for _, stage := range []trust.Stage{trust.Stable, trust.Distributing, trust.Reissuing, trust.Draining, trust.Retiring} {
			gauge(s.stage, boolean(stage == st.stage), k.namespace, k.domain, string(stage))
		}
		gauge(s.stageAge, age(st.since, now), k.namespace, k.domain, string(st.stage))
		gauge(s.blockers, float64(st.blockers), k.namespace, k.domain)
		gauge(s.blocked, st.waited(now), k.namespace, k.domain)
		gauge(s.problems, float64(st.problems), k.namespace, k.domain)
		gauge(s.refused, float64(refused[k]), k.namespace, k.domain)
		for _, c := range soonest(st.certificates) {
			gauge(s.certificate, float64(c.expires.Unix()), k.namespace, k.domain, c.name, c.role)
			if !c.due.IsZero() {
				gauge(s.renewal, float64(c.due.Unix()), k.namespace, k.domain, c.name, c.role)
			}
		}
		for slot, expires := range st.anchors {
			gauge(s.anchor, float64(expires.Unix()), k.namespace, k.domain, string(slot))
		}
		if st.expires.IsZero() {
			continue
		}
		gauge(s.expires, float64(st.expires.Unix()), k.namespace, k.domain)
		if name := openShiftSigner(st.signer); name != "" {
			gauge(s.expirationDays, st.expires.Sub(now).Hours()/(24*time.Hour).Hours(), k.namespace, name)
		}
	}
}

// Bounds of the series: trust domains of a namespace, and certificates of a trust domain. A tenant may have any
// number of both. Alerts are about the certificates that expire first, and those are kept.
const (
	mostDomains      = 128
	mostCertificates = 64
)

func byName(x, y key) int {
	return cmp.Or(cmp.Compare(x.namespace, y.namespace), cmp.Compare(x.domain, y.domain))
}

// soonest returns the certificates that expire first, mostCertificates at most.
func soonest(certificates []certificate) []certificate {
	if len(certificates) <= mostCertificates {
		return certificates
	}
	sorted := slices.SortedFunc(slices.Values(certificates), func(x, y certificate) int {
		return cmp.Or(x.expires.Compare(y.expires), cmp.Compare(x.name, y.name))
	})
	return sorted[:mostCertificates]
}

// openShiftSigner returns cluster-etcd-operator's name of the signer in that Secret, "" for other Secrets.
func openShiftSigner(secret string) string {
	switch secret {
	case "etcd-signer":
		return "signer-ca"
	case "etcd-metric-signer":
		return "metrics-signer-ca"
	}
	return ""
}

// age is how many seconds ago something was, 0 if it never was.
func age(since, now time.Time) float64 {
	if since.IsZero() || since.After(now) {
		return 0
	}
	return now.Sub(since).Seconds()
}

// waited is how many seconds the domain has waited for the same, 0 if it does not wait.
func (s *status) waited(now time.Time) float64 {
	if s.blocked == "" {
		return 0
	}
	return age(s.blockedAt, now)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
