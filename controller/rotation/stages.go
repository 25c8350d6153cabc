// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
)

// stageCollector shows the status of every domain at the moment of the scrape, so that nothing has to be kept up to
// date by a timer.
type stageCollector struct {
	metrics.BaseStableCollector

	reports *reports
	clock   clock.PassiveClock

	stage, blockers, problems, expires, expirationDays *metrics.Desc
}

var _ metrics.StableCollector = (*stageCollector)(nil)

func newStageCollector(r *reports, c clock.PassiveClock) *stageCollector {
	desc := func(name, help string, labels ...string) *metrics.Desc {
		return metrics.NewDesc(name, help, labels, nil, metrics.ALPHA, "")
	}
	return &stageCollector{
		reports: r, clock: c,
		stage: desc("certrotation_rotation_stage",
			"1 for the stage that the rotation of a trust domain is in, 0 for the others.", "namespace", "trust_domain", "stage"),
		blockers: desc("certrotation_rotation_blockers",
			"What the rotation of a trust domain waits for, as a number.", "namespace", "trust_domain"),
		problems: desc("certrotation_object_problems",
			"Objects of a trust domain that only a person can put right, as a number.", "namespace", "trust_domain"),
		expires: desc("certrotation_signer_expiration_timestamp_seconds",
			"When the active CA of a trust domain expires, in seconds since 1970.", "namespace", "trust_domain"),
		expirationDays: desc("openshift_etcd_operator_signer_expiration_days",
			"Days until a signer of OpenShift's etcd expires, under the name of cluster-etcd-operator.", "namespace", "name"),
	}
}

// DescribeWithStability implements metrics.StableCollector.
func (s *stageCollector) DescribeWithStability(ch chan<- *metrics.Desc) {
	for _, d := range []*metrics.Desc{s.stage, s.blockers, s.problems, s.expires, s.expirationDays} {
		ch <- d
	}
}

// CollectWithStability implements metrics.StableCollector.
func (s *stageCollector) CollectWithStability(ch chan<- metrics.Metric) {
	gauge := func(d *metrics.Desc, value float64, labels ...string) {
		ch <- metrics.NewLazyConstMetric(d, metrics.GaugeValue, value, labels...)
	}
	now := s.clock.Now()
	for k, st := range s.reports.snapshot() {
		for _, stage := range []trust.Stage{trust.Stable, trust.Distributing, trust.Reissuing, trust.Draining, trust.Retiring} {
			gauge(s.stage, boolean(stage == st.stage), k.namespace, k.domain, string(stage))
		}
		gauge(s.blockers, float64(st.blockers), k.namespace, k.domain)
		gauge(s.problems, float64(st.problems), k.namespace, k.domain)
		if st.expires.IsZero() {
			continue
		}
		gauge(s.expires, float64(st.expires.Unix()), k.namespace, k.domain)
		if name := openShiftSigner(st.signer); name != "" {
			gauge(s.expirationDays, st.expires.Sub(now).Hours()/(24*time.Hour).Hours(), k.namespace, name)
		}
	}
}

// openShiftSigner is what cluster-etcd-operator calls the signer in that Secret, "" if it is none of its.
func openShiftSigner(secret string) string {
	switch secret {
	case "etcd-signer":
		return "signer-ca"
	case "etcd-metric-signer":
		return "metrics-signer-ca"
	}
	return ""
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
