// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"certrotation.dev/hack/tools/prometheus/year"
)

const (
	boardFile   = "../../../../manifests/dashboard/certrotation.json"
	metricsFile = "../../../../cmd/certrotation/app/testdata/metrics.txt"
)

func board(t *testing.T) *Board {
	t.Helper()
	b, err := Read(boardFile)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func metrics(t *testing.T) Metrics {
	t.Helper()
	m, err := ReadMetrics(metricsFile)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPanels: each panel says what it shows and in which unit, asks the data source that was chosen, and has a place of its own.
func TestPanels(t *testing.T) {
	taken, ids, used := map[[2]int]string{}, map[uint32]string{}, ""
	for _, row := range board(t).Rows {
		if len(row.Panels) == 0 {
			t.Errorf("the row %q is empty", row.Title)
		}
		for _, p := range row.Panels {
			if *p.Title == "" || p.Description == nil || !strings.HasSuffix(*p.Description, ".") {
				t.Errorf("%s: %q has no description", row.Title, *p.Title)
			}
			if p.FieldConfig == nil || p.FieldConfig.Defaults.Unit == nil || *p.FieldConfig.Defaults.Unit == "" {
				t.Errorf("%q has no unit", *p.Title)
			}
			if p.Datasource == nil || *p.Datasource.Uid != "${datasource}" {
				t.Errorf("%q does not ask the data source that was chosen", *p.Title)
			}
			if other, is := ids[*p.Id]; is {
				t.Errorf("%q has the id of %q", *p.Title, other)
			}
			ids[*p.Id] = *p.Title
			g := p.GridPos
			if g.X+g.W > 24 {
				t.Errorf("%q is beyond the right border", *p.Title)
			}
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other, is := taken[[2]int{int(x), int(y)}]; is {
						t.Fatalf("%q is in the place of %q", *p.Title, other)
					}
					taken[[2]int{int(x), int(y)}] = *p.Title
				}
			}
			for _, q := range p.Queries {
				used += q.Expr
			}
		}
	}
	for name := range variables {
		if !strings.Contains(used, "$"+name) {
			t.Errorf("no query uses $%s", name)
		}
		if !slices.ContainsFunc(board(t).Templating.List, hasName(name)) {
			t.Errorf("the dashboard has no variable %s", name)
		}
	}
}

func hasName(name string) func(dashboard.VariableModel) bool {
	return func(v dashboard.VariableModel) bool { return v.Name == name }
}

// TestQueriesAskForWhatExists: each query is PromQL about metrics and labels that the programs have, and a legend names labels that
// its query leaves.
func TestQueriesAskForWhatExists(t *testing.T) {
	known := metrics(t)
	for _, row := range board(t).Rows {
		for _, p := range row.Panels {
			for _, q := range p.Queries {
				expr, err := language.ParseExpr(Expand(q.Expr, time.Minute))
				if err != nil {
					t.Errorf("%q: %v", *p.Title, err)
					continue
				}
				for _, unknown := range known.Unknown(expr) {
					t.Errorf("%q asks for %s, which no program has", *p.Title, unknown)
				}
				if strings.Contains(Expand(q.Expr, time.Minute), "$") {
					t.Errorf("%q has a variable that nothing expands: %s", *p.Title, q.Expr)
				}
			}
		}
	}
}

// TestYearHasWhatExists: the year has the metrics of the programs, with their labels and no others.
func TestYearHasWhatExists(t *testing.T) {
	known := metrics(t)
	wrong := map[string]bool{}
	for _, series := range year.Healthy().Series() {
		var names []string
		name := series.Get(labels.MetricName)
		series.Range(func(l labels.Label) {
			if l.Name != labels.MetricName && !slices.Contains(ofScrapes, l.Name) {
				names = append(names, l.Name)
			}
		})
		if want, ok := known[name]; (!ok || !slices.Equal(want, names)) && !wrong[name] {
			wrong[name] = true
			t.Errorf("the year has %s, and the programs have %v with that name", series, want)
		}
	}
}

// TestPanelsShowTheYear: each query has an answer in a rotation of one of the trust domains, or in a week, and
// each legend its labels.
func TestPanelsShowTheYear(t *testing.T) {
	y := year.Healthy()
	engine := NewEngine(y)
	var ranges []Range
	for _, domain := range []string{"certrotation", "etcd", "service", "checkout"} {
		rotation := y.Rotations(domain)[1]
		ranges = append(ranges, Range{rotation.From.Add(-time.Hour), rotation.To.Add(time.Hour), time.Minute})
	}
	// A week in which the guard refuses something.
	ranges = append(ranges, Range{year.Begin.AddDate(0, 5, 0), year.Begin.AddDate(0, 5, 7), time.Hour})
	for _, row := range board(t).Rows {
		for _, p := range row.Panels {
			t.Run(*p.Title, func(t *testing.T) {
				for i := range p.Queries {
					one := Panel{Panel: p.Panel, Queries: p.Queries[i : i+1]}
					points := 0
					for _, r := range ranges {
						lines, err := engine.Evaluate(t.Context(), one, r)
						if err != nil {
							t.Fatal(err)
						}
						for _, line := range lines {
							points += len(slices.DeleteFunc(line.Points, func(p promql.FPoint) bool { return math.IsNaN(p.F) }))
							if strings.TrimSpace(line.Legend) != line.Legend || strings.Contains(line.Legend, "//") || line.Legend == "" {
								t.Errorf("%s: the legend is %q", p.Queries[i].Expr, line.Legend)
							}
						}
					}
					if points == 0 {
						t.Errorf("no data: %s", p.Queries[i].Expr)
					}
				}
			})
		}
	}
}
