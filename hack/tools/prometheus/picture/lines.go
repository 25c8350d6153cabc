// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"image/color"
	"math"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"certrotation.dev/hack/tools/prometheus/dashboard"
)

// drawLines draws values over time, and their legend below.
func drawLines(c canvas, p dashboard.Panel, lines []dashboard.Line, over dashboard.Range) error {
	const legend = 26
	graph := plot.New()
	graph.BackgroundColor = color.Transparent
	graph.X.Min, graph.X.Max = float64(over.From.Unix()), float64(over.To.Unix())
	graph.X.Tick.Marker = plot.TickerFunc(func(float64, float64) []plot.Tick { return ticksOf(over) })
	graph.Y.Tick.Marker = inUnit(*p.FieldConfig.Defaults.Unit)
	for _, axis := range []*plot.Axis{&graph.X, &graph.Y} {
		axis.Tick.Label.Font.Size, axis.Tick.Label.Font.Variant = 8, "Sans"
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = color.Gray{0xb0}, color.Gray{0xb0}
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe8}, color.Gray{0xe8}
	graph.Add(grid)
	how, _ := p.FieldConfig.Defaults.Custom.(*timeseries.FieldConfig)
	least, most := 0.0, 0.0
	for i, line := range lines {
		for _, points := range runs(line, over.Step) {
			drawn, err := plotter.NewLine(points)
			if err != nil {
				return err
			}
			drawn.Color, drawn.Width = palette[i%len(palette)], vg.Points(1.3)
			if how != nil && how.LineInterpolation != nil && *how.LineInterpolation == common.LineInterpolationStepAfter {
				drawn.StepStyle = plotter.PostStep
			}
			graph.Add(drawn)
			for _, point := range points {
				least, most = min(least, point.Y), max(most, point.Y)
			}
		}
	}
	if how != nil && how.ThresholdsStyle != nil {
		most = addThreshold(graph, p, most)
	}
	graph.Y.Min, graph.Y.Max = least, most*1.08
	if most <= least {
		graph.Y.Max = least + 1
	}
	graph.Draw(draw.Crop(c, 0, 0, legend, 0))
	drawLegend(c, lines, legend)
	return nil
}

// runs are the points of a line without those that are no number, apart where there are none for a while.
func runs(line dashboard.Line, step time.Duration) []plotter.XYs {
	var all []plotter.XYs
	last := int64(math.MinInt64)
	for _, point := range line.Points {
		if math.IsNaN(point.F) || math.IsInf(point.F, 0) {
			continue
		}
		if last == math.MinInt64 || point.T-last > 2*step.Milliseconds() {
			all = append(all, nil)
		}
		last = point.T
		all[len(all)-1] = append(all[len(all)-1], plotter.XY{X: float64(point.T) / 1000, Y: point.F})
	}
	for i, points := range all {
		if len(points) == 1 {
			// A point alone would not be seen.
			all[i] = plotter.XYs{{X: points[0].X, Y: 0}, points[0]}
		}
	}
	return all
}

// addThreshold adds those that are not far above the values, and returns the greatest of both.
func addThreshold(graph *plot.Plot, p dashboard.Panel, most float64) float64 {
	greatest := most
	for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
		if step.Value == nil || *step.Value > 4*most {
			continue
		}
		line := plotter.NewFunction(func(float64) float64 { return *step.Value })
		line.Color, line.Dashes, line.Width = named[step.Color], []vg.Length{4, 3}, vg.Points(1)
		graph.Add(line)
		greatest = max(greatest, *step.Value)
	}
	return greatest
}

// drawLegend names the lines in two rows, as many as there is place for.
func drawLegend(c canvas, lines []dashboard.Line, height vg.Length) {
	at := vg.Point{X: c.Min.X + 4, Y: c.Min.Y + height - 8}
	s := style(8, false, color.Gray{0x30})
	for i, line := range lines {
		width := s.Font.Size*2 + s.Width(line.Legend)
		if at.X+width > c.Max.X {
			at = vg.Point{X: c.Min.X + 4, Y: at.Y - 12}
		}
		if at.Y < c.Min.Y {
			c.FillText(s, vg.Point{X: c.Max.X - 20, Y: c.Min.Y + 6}, "...")
			return
		}
		mark := c
		mark.Min, mark.Max = vg.Point{X: at.X, Y: at.Y - 1.5}, vg.Point{X: at.X + 8, Y: at.Y + 1.5}
		fill(mark, palette[i%len(palette)])
		c.FillText(s, vg.Point{X: at.X + 11, Y: at.Y}, line.Legend)
		at.X += width + 6
	}
}

// inUnit labels an axis in the unit of a panel.
type inUnit string

// Ticks implements plot.Ticker: some that are round in the unit.
func (u inUnit) Ticks(least, most float64) []plot.Tick {
	const some = 4
	between := (most - least) / some
	for _, part := range units[string(u)] {
		if between >= part.size || part == units[string(u)][len(units[string(u)])-1] {
			between = part.size * rounded(between/part.size, part.name)
			break
		}
	}
	if units[string(u)] == nil {
		between = rounded(between, "")
	}
	var all []plot.Tick
	for at := math.Ceil(least/between) * between; at <= most; at += between {
		all = append(all, plot.Tick{Value: at, Label: told(at, string(u))})
	}
	return all
}

// rounded is the next round number of a part of a unit: of minutes and seconds those that divide sixty.
func rounded(v float64, of string) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	steps := []float64{1, 2, 5, 10}
	if of == "min" || of == "s" && v >= 1 {
		power, steps = 1, []float64{1, 2, 5, 10, 15, 20, 30, 60}
	}
	for _, step := range steps {
		if step*power >= v {
			return step * power
		}
	}
	return v
}

// ticksOf are round moments of a range of time.
func ticksOf(over dashboard.Range) []plot.Tick {
	between, layout := time.Minute, "15:04"
	for _, round := range []time.Duration{5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 61 * 24 * time.Hour} {
		if over.To.Sub(over.From)/between > 8 {
			between = round
		}
	}
	if between >= 24*time.Hour {
		layout = "2 Jan"
	}
	var all []plot.Tick
	for at := over.From.Truncate(between); at.Before(over.To); at = at.Add(between) {
		if at.After(over.From) {
			all = append(all, plot.Tick{Value: float64(at.Unix()), Label: at.Format(layout)})
		}
	}
	return all
}
