// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"image/color"
	"slices"
	"strconv"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"certrotation.dev/hack/tools/prometheus/dashboard"
)

// drawStat draws the last value.
func drawStat(c canvas, p dashboard.Panel, lines []dashboard.Line) {
	said, with := "no data", color.Color(color.Gray{0x80})
	if len(lines) > 0 && len(lines[0].Points) > 0 {
		v := lines[0].Points[len(lines[0].Points)-1].F
		said, with = told(v, *p.FieldConfig.Defaults.Unit), coloured(p, v)
	}
	s := style(30, true, with)
	s.XAlign = text.XCenter
	c.FillText(s, c.Center(), said)
}

// drawTable draws the last value of each line, from the least.
func drawTable(c canvas, p dashboard.Panel, lines []dashboard.Line) {
	slices.SortFunc(lines, func(a, b dashboard.Line) int { return cmp.Compare(a.Points[0].F, b.Points[0].F) })
	const height = 14
	for i, line := range lines {
		row := draw.Crop(c, 0, 0, 0, -vg.Length(i)*height)
		row.Min.Y = row.Max.Y - height
		write(row, line.Legend, 9, false, color.Black)
		row.Min.X += (row.Max.X - row.Min.X) * 0.6
		write(row, line.Labels.Get("role"), 9, false, color.Black)
		row.Min.X += (row.Max.X - row.Min.X) * 0.4
		write(row, told(line.Points[0].F, *p.FieldConfig.Defaults.Unit), 9, true, color.Black)
	}
}

// drawStates draws a bar for each line, in the colours of its values.
func drawStates(c canvas, p dashboard.Panel, lines []dashboard.Line, over dashboard.Range) {
	const names, below = vg.Length(190), vg.Length(32)
	bars := draw.Crop(c, names, 0, below, 0)
	x := func(milliseconds int64) vg.Length {
		part := float64(milliseconds-over.From.UnixMilli()) / float64(over.To.UnixMilli()-over.From.UnixMilli())
		return bars.Min.X + vg.Length(min(1, part))*(bars.Max.X-bars.Min.X)
	}
	mapping := p.FieldConfig.Defaults.Mappings[0].ValueMap.Options
	height := (bars.Max.Y - bars.Min.Y) / vg.Length(max(1, len(lines)))
	for i, line := range lines {
		top := bars.Max.Y - vg.Length(i)*height
		label := c
		label.Min.Y, label.Max.Y = top-height, top
		write(label, line.Legend, 9, false, color.Black)
		for _, point := range line.Points {
			bar := c
			bar.Min = vg.Point{X: x(point.T), Y: top - height*0.9}
			bar.Max = vg.Point{X: x(point.T+over.Step.Milliseconds()) + 0.4, Y: top - height*0.1}
			fill(bar, named[*mapping[strconv.Itoa(int(point.F))].Color])
		}
	}
	for _, tick := range ticksOf(over) {
		s := style(8, false, color.Gray{0x60})
		s.XAlign = text.XCenter
		c.FillText(s, vg.Point{X: x(int64(tick.Value * 1000)), Y: bars.Min.Y - 8}, tick.Label)
	}
	left := c
	for i := range len(mapping) {
		left.Min.Y, left.Max.Y = c.Min.Y, c.Min.Y+14
		mark := left
		mark.Max.X = mark.Min.X + 10
		fill(draw.Crop(mark, 0, 0, 3, -3), named[*mapping[strconv.Itoa(i)].Color])
		left.Min.X += 14
		write(left, *mapping[strconv.Itoa(i)].Text, 8, false, color.Black)
		left.Min.X += 80
	}
}
