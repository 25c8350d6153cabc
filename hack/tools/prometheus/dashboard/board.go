// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Board is the dashboard, row by row.
type Board struct {
	dashboard.Dashboard

	Rows []Row
}

// Row is a heading and the panels under it.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel with the queries that it shows.
type Panel struct {
	*dashboard.Panel

	Queries []*prometheus.Dataquery
}

// Read a dashboard. A field that Grafana does not have, of the dashboard or of one of the kinds of panels that are used, is an error.
func Read(path string) (*Board, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	runtime := cog.NewRuntime()
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
	for _, kind := range []func() variants.PanelcfgConfig{stat.VariantConfig, statetimeline.VariantConfig, table.VariantConfig, timeseries.VariantConfig} {
		runtime.RegisterPanelcfgVariant(kind())
	}
	// The strict reading tells what is wrong, and is a list of nothing if nothing is; only the other one reads all.
	var wrong cog.BuildErrors
	if err := (&dashboard.Dashboard{}).UnmarshalJSONStrict(text); !errors.As(err, &wrong) || len(wrong) > 0 {
		return nil, fmt.Errorf("read %s strictly: %w", path, err)
	}
	b := &Board{}
	if err := json.Unmarshal(text, &b.Dashboard); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := b.Validate(); err != nil {
		return nil, fmt.Errorf("validate %s: %w", path, err)
	}
	for _, p := range b.Dashboard.Panels {
		if p.RowPanel != nil {
			b.Rows = append(b.Rows, Row{Title: *p.RowPanel.Title})
			continue
		}
		if len(b.Rows) == 0 {
			return nil, fmt.Errorf("%s: the first panel is under no row", path)
		}
		panel := Panel{Panel: p.Panel}
		for _, target := range p.Panel.Targets {
			query, ok := target.(*prometheus.Dataquery)
			if !ok {
				return nil, fmt.Errorf("%s: a query of %q is a %T", path, *p.Panel.Title, target)
			}
			panel.Queries = append(panel.Queries, query)
		}
		row := &b.Rows[len(b.Rows)-1]
		row.Panels = append(row.Panels, panel)
	}
	return b, nil
}
