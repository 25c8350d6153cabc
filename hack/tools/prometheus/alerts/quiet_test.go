// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"certrotation.dev/hack/tools/prometheus/year"
)

// The rules are evaluated once in two minutes while something happens, and four times a day otherwise: an alert that would wait for
// an hour fires then at the second evaluation already.
const (
	often  = 2 * time.Minute
	seldom = 6 * time.Hour
)

// TestHealthyYearIsQuiet: in a year in which nothing is wrong no alert fires.
func TestHealthyYearIsQuiet(t *testing.T) {
	y := year.Healthy()
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: language,
	})
	defer func() { _ = engine.Close() }()
	query := rules.EngineQueryFunc(engine, y)
	groups, err := load(rulesFile, query, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := alerting(groups)

	evaluations, pending := 0, map[string]bool{}
	evaluate := func(at time.Time) {
		evaluations++
		for _, r := range all {
			if _, err := r.Eval(t.Context(), 0, at, query, nil, 0); err != nil {
				t.Fatalf("%s at %s: %v", r.Name(), at, err)
			}
			for _, a := range r.ActiveAlerts() {
				pending[r.Name()] = true
				if a.State == rules.StateFiring && a.FiredAt.Equal(at) {
					t.Errorf("at %s: %s", at.Format(time.DateTime), text(a.Labels, a.Annotations))
				}
			}
		}
	}
	begun, busy := time.Now(), time.Duration(0)
	at, end := year.Begin.Add(time.Hour), year.Begin.Add(year.Length)
	for _, span := range y.Busy() {
		for ; at.Before(span.From); at = at.Add(seldom) {
			evaluate(at)
		}
		busy += span.To.Sub(span.From)
		for at = span.From; at.Before(span.To); at = at.Add(often) {
			evaluate(at)
		}
	}
	for ; at.Before(end); at = at.Add(seldom) {
		evaluate(at)
	}
	t.Logf("%d rules, %d times in %.0f s: once in %s in %.0f hours in which something happens, once in %s otherwise. Pending for a while: %v",
		len(all), evaluations, time.Since(begun).Seconds(), often, busy.Hours(), seldom, slices.Sorted(maps.Keys(pending)))
}

// TestYearHasTheSeriesOfTheRules: a rule is not quiet because the year lacks what it asks for.
func TestYearHasTheSeriesOfTheRules(t *testing.T) {
	y := year.Healthy()
	groups, err := load(rulesFile, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alerting(groups) {
		parser.Inspect(r.Query(), func(n parser.Node, _ []parser.Node) error {
			if selector, ok := n.(*parser.VectorSelector); ok && !found(t, y, selector) {
				t.Errorf("%s: the year has no %s", r.Name(), selector)
			}
			return nil
		})
	}
}

func found(t *testing.T, y storage.Queryable, s *parser.VectorSelector) bool {
	t.Helper()
	q, err := y.Querier(year.Begin.UnixMilli(), year.Begin.Add(year.Length).UnixMilli())
	if err != nil {
		t.Fatal(err)
	}
	return q.Select(t.Context(), false, nil, s.LabelMatchers...).Next()
}
