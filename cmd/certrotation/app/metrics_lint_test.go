// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// unlinted are metrics whose names others chose, with who.
var unlinted = map[string]string{"openshift_etcd_operator_signer_expiration_days": "cluster-etcd-operator"}

var kinds = map[string]dto.MetricType{"counter": dto.MetricType_COUNTER, "gauge": dto.MetricType_GAUGE, "histogram": dto.MetricType_HISTOGRAM}

// TestPromlint has promlint check every metric of serve, controller, agent and library, also those without a sample.
func TestPromlint(t *testing.T) {
	var families []*dto.MetricFamily
	for _, m := range ofThePrograms(t) {
		kind, one := kinds[m.kind], &dto.Metric{}
		for _, label := range m.labels {
			one.Label = append(one.Label, &dto.LabelPair{Name: &label})
		}
		families = append(families, &dto.MetricFamily{Name: &m.name, Help: &m.help, Type: &kind, Metric: []*dto.Metric{one}})
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(families) < 40 {
		t.Fatalf("%d metrics: %v", len(families), err)
	}
	excused := map[string]bool{}
	for _, p := range problems {
		if unlinted[p.Metric] == "" {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
		excused[p.Metric] = true
	}
	for name, chosenBy := range unlinted {
		if !excused[name] {
			t.Errorf("promlint has nothing against %s of %s: take it out of unlinted", name, chosenBy)
		}
	}
}
