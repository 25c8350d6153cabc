// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"math"
	"time"
)

// serveSeries are those of the replicas of serve.
func (y *Year) serveSeries() {
	for _, t := range y.targets {
		if t.job != "serve" {
			continue
		}
		y.viewSeries(t)
		y.guardSeries(t)
		for _, r := range []struct {
			verb, subresource, scope, code string
			perSecond                      float64
		}{
			{"LIST", "", "namespace", "200", 0.02}, {"GET", "", "resource", "200", 0.05}, {"WATCH", "", "namespace", "200", 0.003},
			{"POST", "acknowledge", "resource", "201", 0.004}, {"GET", "", "resource", "404", 0.0005},
		} {
			y.add(t, "apiserver_request_total", rate(r.perSecond), "verb", r.verb, "dry_run", "", "group", "certrotation.dev", "version", "v1alpha1",
				"resource", "certificaterotations", "subresource", r.subresource, "scope", r.scope, "component", "apiserver", "code", r.code)
		}
	}
}

// viewSeries are those of what the API shows.
func (y *Year) viewSeries(t *target) {
	y.add(t, "certrotation_view_objects", always(float64(len(y.domains))), "resource", "bundlestatuses")
	certificates := 0
	for _, d := range y.domains {
		certificates += len(d.certificates)
		for _, stage := range stages {
			y.add(t, "certrotation_rotation_stage", func(at time.Duration, _ life) (float64, bool) { return 1, d.stateAt(at).stage == stage },
				"namespace", d.namespace, "trust_domain", d.name, "stage", stage)
		}
	}
	y.add(t, "certrotation_view_objects", always(float64(certificates)), "resource", "certificaterotations")
	for _, namespace := range []string{system, "openshift-etcd", "mtls-demo", "shop"} {
		y.add(t, "certrotation_configuration_problems", always(0), "namespace", namespace)
		for _, role := range []string{signer, leaf} {
			y.add(t, "certrotation_earliest_expiry_timestamp_seconds", func(at time.Duration, _ life) (float64, bool) {
				return y.earliest(namespace, role, at)
			}, "namespace", namespace, "role", role)
		}
	}
	y.addHistogram(t, "certrotation_assess_duration_seconds", spread(exponential(0.00005, 4, 10), 0.0008, 0.05), rate(0.2))
	// A process that begins has much to do at once, and lags by seconds until that is done.
	lag := spread(exponential(0.0005, 4, 10), 0.006, 0.13)
	lag.begin, lag.slowest = 400, 8.192
	y.addHistogram(t, "certrotation_view_lag_seconds", lag, rate(0.2))
	y.add(t, "certrotation_reads_refused", always(0), "namespace", "", "source", "nodes")
}

// earliest is the certificate of a namespace that expires first.
func (y *Year) earliest(namespace, role string, at time.Duration) (float64, bool) {
	first := math.Inf(1)
	for _, d := range y.domains {
		for i := range d.certificates {
			if c := &d.certificates[i]; d.namespace == namespace && c.role == role {
				first = min(first, unix(c.at(at).expires))
			}
		}
	}
	return first, !math.IsInf(first, 1)
}

// guardSeries are those of the guard, besides what it refuses.
func (y *Year) guardSeries(t *target) {
	bounds := []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5}
	for _, resource := range []string{"secrets", "configmaps"} {
		y.add(t, "certrotation_admission_reviews_total", rate(0.05), "resource", resource, "operation", "update", "decision", "allow", "dry_run", "false")
		y.addHistogram(t, "certrotation_admission_review_duration_seconds", spread(bounds, 0.0006, 0.05), rate(0.05), "resource", resource, "decision", "allow")
	}
}

// processSeries are those of every process.
func (y *Year) processSeries() {
	for _, t := range y.targets {
		y.add(t, "process_start_time_seconds", func(_ time.Duration, l life) (float64, bool) { return unix(l.from), true })
		y.add(t, "process_resident_memory_bytes", func(at time.Duration, l life) (float64, bool) {
			return 90e6 + 25e6*(1-math.Exp(-(at-l.from).Hours())), true
		})
		for _, r := range []struct {
			method, code string
			perSecond    float64
		}{{"GET", "200", 0.1}, {"PUT", "200", 0.08}, {"POST", "201", 0.01}, {"PUT", "409", 0.0002}, {"GET", "<error>", 0.00001}} {
			y.add(t, "rest_client_requests_total", rate(r.perSecond), "method", r.method, "code", r.code, "host", "172.30.0.1:443")
		}
		y.addHistogram(t, "rest_client_request_duration_seconds", spread([]float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60}, 0.008, 0.5),
			rate(0.19), "verb", "GET", "host", "172.30.0.1:443")
	}
}
