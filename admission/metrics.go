// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/component-base/metrics"
)

// Values of the label decision.
const (
	decisionAllow = "allow"
	decisionDeny  = "deny"
	decisionError = "error"
)

// meters of the guard. Labels take a fixed set of values, independent of the request.
type meters struct {
	reviews  *metrics.CounterVec
	duration *metrics.HistogramVec
	live     *metrics.CounterVec
}

func newMeters() *meters {
	const namespace, subsystem = "certrotation", "admission"
	return &meters{
		reviews: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "reviews_total", StabilityLevel: metrics.ALPHA,
			Help: "Number of admission reviews by resource, operation, decision (allow, deny, error) and whether it was a dry run.",
		}, []string{"resource", "operation", "decision", "dry_run"}),
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "review_duration_seconds", StabilityLevel: metrics.ALPHA,
			Help:    "Time from the request to the answer of an admission review, by resource and decision.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5},
		}, []string{"resource", "decision"}),
		live: metrics.NewCounterVec(&metrics.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "live_checks_total", StabilityLevel: metrics.ALPHA,
			Help: "Number of reviews that were checked against live reads, by result (ok, error).",
		}, []string{"result"}),
	}
}

func (m *meters) register(register func(metrics.Registerable) error) error {
	for _, c := range []metrics.Registerable{m.reviews, m.duration, m.live} {
		if err := register(c); err != nil {
			return err
		}
	}
	return nil
}

// observe counts one review; req is nil if the request could not be read.
func (m *meters) observe(req *admissionv1.AdmissionRequest, decision string, took time.Duration) {
	resource, operation, dryRun := "unknown", "unknown", false
	if req != nil {
		resource, operation = resourceLabel(req), operationLabel(req)
		dryRun = req.DryRun != nil && *req.DryRun
	}
	m.reviews.WithLabelValues(resource, operation, decision, strconv.FormatBool(dryRun)).Inc()
	m.duration.WithLabelValues(resource, decision).Observe(took.Seconds())
}

func (m *meters) observeLive(err error) {
	result := "ok"
	if err != nil {
		result = "error"
	}
	m.live.WithLabelValues(result).Inc()
}

func resourceLabel(req *admissionv1.AdmissionRequest) string {
	switch resource := req.Resource.Resource; resource {
	case "secrets", "configmaps", "rotationconfigurations", "rotationrecords":
		return resource
	}
	return "other"
}

func operationLabel(req *admissionv1.AdmissionRequest) string {
	switch req.Operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete:
		return strings.ToLower(string(req.Operation))
	case admissionv1.Connect:
	}
	return "other"
}
