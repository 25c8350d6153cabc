// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// Range of time that a dashboard shows, with the time between two points.
type Range struct {
	From, To time.Time
	Step     time.Duration
}

// variables with everything chosen, as the dashboard shows them when it is opened.
var variables = map[string]string{"namespace": ".*", "job": "certrotation-(serve|controller)", "system": "certrotation-system"}

// Expand the variables of a query, of the dashboard and of Grafana.
func Expand(expr string, step time.Duration) string {
	// A rate needs four scrapes; Grafana knows how often there is one from its data source.
	const scrapes = 2 * time.Minute
	expr = strings.ReplaceAll(expr, "$__rate_interval", model.Duration(max(scrapes, step)).String())
	for name, value := range variables {
		expr = strings.ReplaceAll(expr, "$"+name, value)
	}
	return expr
}

// Engine evaluates queries.
type Engine struct {
	engine *promql.Engine
	data   storage.Queryable
}

// language is PromQL as Prometheus has it without feature flags.
var language = parser.NewParser(parser.Options{})

// NewEngine returns an Engine, as Prometheus has one.
func NewEngine(data storage.Queryable) *Engine {
	return &Engine{data: data, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 200_000_000, Timeout: time.Hour, EnableAtModifier: true, EnableNegativeOffset: true, Parser: language,
	})}
}

// Line is one of what a panel shows.
type Line struct {
	Legend string
	Labels labels.Labels
	Points []promql.FPoint
}

// Evaluate the queries of a panel. One that asks for a moment has one point, at the end of the time.
func (e *Engine) Evaluate(ctx context.Context, p Panel, r Range) ([]Line, error) {
	var lines []Line
	for i, q := range p.Queries {
		expr := Expand(q.Expr, r.Step)
		from := r.From
		if q.Instant != nil && *q.Instant {
			from = r.To
		}
		query, err := e.engine.NewRangeQuery(ctx, e.data, nil, expr, from, r.To, r.Step)
		if err != nil {
			return nil, fmt.Errorf("query %d of %q: %w", i+1, *p.Title, err)
		}
		result := query.Exec(ctx)
		matrix, err := result.Matrix()
		if err != nil {
			return nil, fmt.Errorf("query %d of %q: %w", i+1, *p.Title, err)
		}
		for _, s := range matrix {
			lines = append(lines, Line{legend(*q.LegendFormat, s.Metric), s.Metric.Copy(), append([]promql.FPoint(nil), s.Floats...)})
		}
		query.Close()
	}
	return lines, nil
}

// ofLabel is where a legend has the value of a label.
var ofLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// legend with the values of labels.
func legend(format string, l labels.Labels) string {
	return ofLabel.ReplaceAllStringFunc(format, func(s string) string { return l.Get(ofLabel.FindStringSubmatch(s)[1]) })
}
