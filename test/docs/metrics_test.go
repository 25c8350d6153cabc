// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMetricsAreExplained: docs/reference.md has each metric with its type, its labels and the alerts that use it.
func TestMetricsAreExplained(t *testing.T) {
	t.Parallel()
	made := metrics(t, theTree(t))
	rows := explained(t, tables(t, reference, "Metrics"), "metric")
	same(t, "metric", reference, slices.Sorted(maps.Keys(made)), rows)
	rules := alerts(t)
	for name, row := range rows {
		m := made[name]
		if m == nil || len(row) != 6 {
			continue
		}
		if row[1] != m.kind {
			t.Errorf("%s calls %s a %s, which is a %s", reference, name, row[1], m.kind)
		}
		if labels := slices.Sorted(slices.Values(inCode(row[2]))); !slices.Equal(labels, m.labels) {
			t.Errorf("%s gives %s the labels %q, want %q", reference, name, labels, m.labels)
		}
		if of := m.of(); row[3] != of {
			t.Errorf("%s says that %s is of %s, want %s", reference, name, row[3], of)
		}
		var want []string
		for alert, expression := range rules {
			if slices.Contains(series(expression), name) {
				want = append(want, alert)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(anAlert.FindAllString(row[5], -1))); !slices.Equal(got, want) {
			t.Errorf("%s says that %s is asked for by %q, want %q", reference, name, got, want)
		}
	}
}

// TestAlertsAreExplained: each alert has a section in the runbook, links to it, and uses metrics that exist. No
// page names another alert.
func TestAlertsAreExplained(t *testing.T) {
	t.Parallel()
	rules, made := alerts(t), metrics(t, theTree(t))
	const runbook = "manifests/alerts/RUNBOOK.md"
	sections := map[string]bool{}
	for line := range strings.SplitSeq(read(t, runbook), "\n") {
		if name, is := strings.CutPrefix(line, "## "); is {
			sections[name] = true
			if rules[name] == "" {
				t.Errorf("%s explains %s, which is no alert", runbook, name)
			}
		}
	}
	for alert, expression := range rules {
		if !sections[alert] {
			t.Errorf("%s does not explain %s", runbook, alert)
		}
		if anchor := "runbook: " + runbook + "#" + strings.ToLower(alert) + "\n"; !strings.Contains(expression, anchor) {
			t.Errorf("%s does not name its section of %s", alert, runbook)
		}
		for _, name := range series(expression) {
			if made[name] == nil {
				t.Errorf("%s asks for %s, which nothing registers", alert, name)
			}
		}
	}
	for _, page := range pages(t) {
		if page == "docs/comparison.md" {
			// This page names alerts of other projects.
			continue
		}
		for _, name := range anAlert.FindAllString(read(t, page), -1) {
			if rules[name] == "" {
				t.Errorf("%s names %s, which is no alert", page, name)
			}
		}
	}
}

var (
	anAlert = regexp.MustCompile(`\bCertRotation[A-Z]\w+`)
	aSeries = regexp.MustCompile(`\bcertrotation_[a-z_]+`)
	rule    = regexp.MustCompile(`(?m)^  - alert: (\w+)$`)
)

// alerts returns the rules of manifests/alerts by name.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	text := read(t, "manifests/alerts/rules.yaml")
	found := map[string]string{}
	starts := rule.FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		found[text[at[2]:at[3]]] = text[at[1]:end]
	}
	if len(found) == 0 {
		t.Error("there are no alerts")
	}
	return found
}

// series returns the certrotation metrics that a rule uses.
func series(expression string) []string {
	var out []string
	for _, name := range aSeries.FindAllString(expression, -1) {
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		out = append(out, name)
	}
	return out
}
