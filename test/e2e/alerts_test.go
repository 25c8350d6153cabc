// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// rules is the checked part of a file of Prometheus rules.
type rules struct {
	Groups []struct {
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

var (
	// seriesInRule matches the names of our metrics in an expression, and of those of leader election.
	seriesInRule = regexp.MustCompile(`\b(?:certrotation|leader_election)_[a-z_]+\b`)
	// labelsInRule matches a metric with its label matchers.
	labelsInRule = regexp.MustCompile(`\b((?:certrotation|leader_election)_[a-z_]+)\{([^}]*)\}`)
	labelName    = regexp.MustCompile(`([a-z_]+)\s*(?:!=|=~|!~|=)\s*"`)
	// seriesOfRollouts exist only with a rollout, which needs nodes, or while a workload must be restarted. The
	// test only checks that the source has them.
	seriesOfRollouts = regexp.MustCompile(`^certrotation_(rollout_([a-z_]+)|workload_[a-z_]+)$`)
)

func TestAlertsUseMetricsThatExist(t *testing.T) {
	s := theSystem(t)
	// A counter appears with its first event, so the webhook must review an edit first.
	s.refused(t, []string{"NeverEmpty"}, "patch", "configmap", "-n", demo, bundle, "--type=merge", "-p", `{"data":{"ca-bundle.crt":""}}`)
	scraped := s.controllerMetrics(t) + s.serveMetrics(t.Context(), t)

	text, err := os.ReadFile(manifest(t, "alerts/rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file rules
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	runbook, err := os.ReadFile(manifest(t, "alerts/RUNBOOK.md"))
	if err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			alerts++
			t.Run(rule.Alert, func(t *testing.T) {
				names := seriesInRule.FindAllString(rule.Expr, -1)
				if len(names) == 0 {
					t.Errorf("no metric in %s", rule.Expr)
				}
				for _, name := range names {
					if of := seriesOfRollouts.FindStringSubmatch(name); of != nil {
						if source := sourceOfRollouts(t); !strings.Contains(source, `"`+name+`"`) && (of[2] == "" || !strings.Contains(source, `"`+of[2]+`"`)) {
							t.Errorf("no rollout exports %s", name)
						}
						continue
					}
					if !regexp.MustCompile(`(?m)^` + name + `[{ ]`).MatchString(scraped) {
						t.Errorf("nothing exports %s", name)
					}
				}
				for _, series := range labelsInRule.FindAllStringSubmatch(rule.Expr, -1) {
					for _, label := range labelName.FindAllStringSubmatch(series[2], -1) {
						if !regexp.MustCompile(`(?m)^` + series[1] + `\{[^}]*\b` + label[1] + `="`).MatchString(scraped) {
							t.Errorf("%s has no label %s", series[1], label[1])
						}
					}
				}
				anchor := "RUNBOOK.md#" + strings.ToLower(rule.Alert)
				if !strings.HasSuffix(rule.Annotations["runbook"], anchor) || !strings.Contains(string(runbook), "\n## "+rule.Alert+"\n") {
					t.Errorf("the runbook has no section for it: %q", rule.Annotations["runbook"])
				}
				if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
					t.Error("no severity or no summary")
				}
			})
		}
	}
	if sections := strings.Count(string(runbook), "\n## "); sections != alerts {
		t.Errorf("the runbook has %d sections for %d alerts", sections, alerts)
	}
}

func sourceOfRollouts(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "controller", "rollout", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of rollouts: %v", err)
	}
	var all strings.Builder
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
