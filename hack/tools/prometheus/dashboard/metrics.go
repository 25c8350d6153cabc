// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Metrics are those that the programs have, by their names: the labels of each, sorted.
type Metrics map[string][]string

// listed is a line of cmd/certrotation/app/testdata/metrics.txt, which a test there holds to what the programs register.
var listed = regexp.MustCompile(`^(\w+) (counter|gauge|histogram) \{([^}]*)\}$`)

// ReadMetrics reads the list of them. A histogram is three.
func ReadMetrics(path string) (Metrics, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := Metrics{}
	for line := range strings.Lines(string(text)) {
		parts := listed.FindStringSubmatch(strings.TrimSpace(line))
		if parts == nil {
			return nil, fmt.Errorf("%s: no metric: %q", path, line)
		}
		names := strings.FieldsFunc(parts[3], func(r rune) bool { return r == ',' || r == ' ' })
		if parts[2] == "histogram" {
			all[parts[1]+"_count"], all[parts[1]+"_sum"] = names, names
			parts[1] += "_bucket"
			names = append(slices.Clone(names), "le")
		}
		slices.Sort(names)
		all[parts[1]] = names
	}
	return all, nil
}

// ofScrapes are the labels that a scrape adds.
var ofScrapes = []string{"instance", "job"}

// Unknown are the metrics and labels of an expression that the programs do not have.
func (m Metrics) Unknown(expr parser.Expr) []string {
	var unknown []string
	known := map[string]bool{}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		selector, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		names, ok := m[selector.Name]
		if !ok {
			unknown = append(unknown, "the metric "+selector.Name)
		}
		for _, name := range append(slices.Clone(names), ofScrapes...) {
			known[name] = true
		}
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != labels.MetricName && !slices.Contains(names, matcher.Name) && !slices.Contains(ofScrapes, matcher.Name) {
				unknown = append(unknown, fmt.Sprintf("the label %s of %s", matcher.Name, selector.Name))
			}
		}
		return nil
	})
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			for _, name := range a.Grouping {
				if !known[name] {
					unknown = append(unknown, fmt.Sprintf("the label %s in %s", name, a))
				}
			}
		}
		return nil
	})
	return unknown
}
