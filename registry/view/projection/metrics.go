// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	"k8s.io/component-base/metrics"

	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/pki"
)

const metricsNamespace = "certrotation"

// mostDomains of a namespace have their own series, because a tenant may create any number of domains.
const mostDomains = 128

// projectorMetrics are bounded by the number of namespaces and trust domains, not by the number of certificates.
type projectorMetrics struct {
	assess, lag *metrics.Histogram
	objects     *metrics.GaugeVec
	expiry      *metrics.GaugeVec
	stage       *metrics.GaugeVec
	broken      *metrics.GaugeVec
}

func newProjectorMetrics() *projectorMetrics {
	return &projectorMetrics{
		assess: metrics.NewHistogram(&metrics.HistogramOpts{
			Namespace: metricsNamespace, Name: "assess_duration_seconds",
			Help:           "Time to derive stage, blockers and actions of one trust domain.",
			Buckets:        metrics.ExponentialBuckets(0.00005, 4, 10),
			StabilityLevel: metrics.ALPHA,
		}),
		lag: metrics.NewHistogram(&metrics.HistogramOpts{
			Namespace: metricsNamespace, Name: "view_lag_seconds",
			Help:           "Time from the arrival of a change of a source to its being served.",
			Buckets:        metrics.ExponentialBuckets(0.0005, 4, 10),
			StabilityLevel: metrics.ALPHA,
		}),
		objects: gauge("view_objects", "Virtual objects that are served.", "resource"),
		expiry: gauge("earliest_expiry_timestamp_seconds",
			"End of validity, in Unix seconds, of the certificate of a namespace that expires first.", "namespace", "role"),
		stage: gauge("rotation_stage", "1 for the stage that the rotation of a trust domain is in.",
			"namespace", "trust_domain", "stage"),
		broken: gauge("configuration_problems", "Problems of the configurations of a namespace.", "namespace"),
	}
}

func gauge(name, help string, labels ...string) *metrics.GaugeVec {
	return metrics.NewGaugeVec(&metrics.GaugeOpts{
		Namespace: metricsNamespace, Name: name, Help: help, StabilityLevel: metrics.ALPHA,
	}, labels)
}

func (m *projectorMetrics) register(register func(metrics.Registerable) error) error {
	for _, metric := range []metrics.Registerable{m.assess, m.lag, m.objects, m.expiry, m.stage, m.broken} {
		if err := register(metric); err != nil {
			return err
		}
	}
	return nil
}

func (m *projectorMetrics) count(resource string, change int) {
	m.objects.WithLabelValues(resource).Add(float64(change))
}

func (m *projectorMetrics) observe(in Input) {
	m.forget(in.Namespace.Name)
	m.broken.WithLabelValues(in.Namespace.Name).Set(float64(len(in.Namespace.Problems)))
	var signers, leaves earliest
	for i, domain := range in.Namespace.Domains {
		if i < mostDomains {
			m.stage.WithLabelValues(domain.Namespace, domain.Name, string(in.Assessments[i].Stage)).Set(1)
		}
		signers.add(domain.Signer.Active)
		for j := range domain.Leaves {
			leaves.add(domain.Leaves[j].Certificate)
		}
	}
	m.setExpiry(in.Namespace.Name, certrotation.RoleSigner, signers)
	m.setExpiry(in.Namespace.Name, certrotation.RoleLeaf, leaves)
}

func (m *projectorMetrics) setExpiry(namespace string, role certrotation.Role, at earliest) {
	if !at.IsZero() {
		m.expiry.WithLabelValues(namespace, string(role)).Set(float64(at.Unix()))
	}
}

func (m *projectorMetrics) forget(namespace string) {
	labels := map[string]string{"namespace": namespace}
	m.expiry.DeletePartialMatch(labels)
	m.stage.DeletePartialMatch(labels)
	m.broken.DeletePartialMatch(labels)
}

// earliest end of validity.
type earliest struct{ time.Time }

func (e *earliest) add(c *pki.Certificate) {
	if c != nil && (e.IsZero() || c.NotAfter.Before(e.Time)) {
		e.Time = c.NotAfter
	}
}
