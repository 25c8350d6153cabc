// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// TestObjectsOfTheOperator: the Prometheus operator knows every field of its objects, and gets the rules that are tested.
func TestObjectsOfTheOperator(t *testing.T) {
	dir := filepath.Join(filepath.Dir(rulesFile), "..", "components", "prometheus-operator")
	var rule monitoringv1.PrometheusRule
	strictly(t, readFile(t, filepath.Join(dir, "rules.yaml")), &rule)
	var tested monitoringv1.PrometheusRuleSpec
	strictly(t, readFile(t, rulesFile), &tested)
	if diff := cmp.Diff(tested, rule.Spec); diff != "" || len(tested.Groups) == 0 {
		t.Errorf("the PrometheusRule has other rules, hack/update-codegen.sh makes it anew (-tested +object):\n%s", diff)
	}
	monitors := bytes.Split(readFile(t, filepath.Join(dir, "monitors.yaml")), []byte("\n---\n"))
	if len(monitors) != 2 {
		t.Fatalf("%d ServiceMonitors", len(monitors))
	}
	for _, text := range monitors {
		var monitor monitoringv1.ServiceMonitor
		strictly(t, text, &monitor)
		if len(monitor.Spec.Endpoints) != 1 || !monitor.Spec.Endpoints[0].HonorLabels {
			t.Errorf("%s renames the label namespace, which the rules need", monitor.Name)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func strictly(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("read %T: %v", into, err)
	}
}
