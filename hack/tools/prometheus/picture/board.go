// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"certrotation.dev/hack/tools/prometheus/dashboard"
)

const (
	// cell is the width and the height of a place of Grafana's grid, which has 24 in a row.
	cellWidth, cellHeight = vg.Length(60), vg.Length(26)
	gap                   = vg.Length(4)
)

// canvas is a part of the picture. The origin is at its lower left.
type canvas = draw.Canvas

// drawBoard draws every panel in its place.
func drawBoard(ctx context.Context, board *dashboard.Board, engine *dashboard.Engine, over dashboard.Range) (vgimg.PngCanvas, error) {
	height := vg.Length(0)
	for _, row := range board.Rows {
		for _, p := range row.Panels {
			height = max(height, cellHeight*vg.Length(p.GridPos.Y+p.GridPos.H))
		}
	}
	picture := vgimg.NewWith(vgimg.UseWH(24*cellWidth, height+cellHeight), vgimg.UseDPI(96))
	all := draw.New(picture)
	fill(all, color.Gray{0xee})
	write(draw.Crop(all, 0, 0, height, 0), fmt.Sprintf("%s   %s to %s, a point each %s", *board.Title, over.From.Format("2006-01-02 15:04"), over.To.Format("2006-01-02 15:04"), over.Step), 13, true, color.Black)
	at := func(x, y, w, h uint32) canvas {
		left, top := cellWidth*vg.Length(x), height-cellHeight*vg.Length(y)
		return canvas{Canvas: picture, Rectangle: vg.Rectangle{
			Min: vg.Point{X: left + gap/2, Y: top - cellHeight*vg.Length(h) + gap/2}, Max: vg.Point{X: left + cellWidth*vg.Length(w) - gap/2, Y: top - gap/2},
		}}
	}
	for _, row := range board.Rows {
		first := row.Panels[0].GridPos
		write(at(0, first.Y-1, 24, 1), row.Title, 12, true, color.Black)
		for _, p := range row.Panels {
			lines, err := engine.Evaluate(ctx, p, over)
			if err != nil {
				return vgimg.PngCanvas{}, err
			}
			c := at(p.GridPos.X, p.GridPos.Y, p.GridPos.W, p.GridPos.H)
			fill(c, color.White)
			title := draw.Crop(c, gap, -gap, 0, 0)
			title.Min.Y = title.Max.Y - 18
			write(title, *p.Title, 10, true, color.Black)
			if err := drawPanel(draw.Crop(c, 2*gap, -2*gap, gap, -18), p, lines, over); err != nil {
				return vgimg.PngCanvas{}, fmt.Errorf("draw %q: %w", *p.Title, err)
			}
		}
	}
	return vgimg.PngCanvas{Canvas: picture}, nil
}

// drawPanel draws what a panel shows, as its kind does.
func drawPanel(c canvas, p dashboard.Panel, lines []dashboard.Line, over dashboard.Range) error {
	switch p.Type {
	case "stat":
		drawStat(c, p, lines)
	case "table":
		drawTable(c, p, lines)
	case "state-timeline":
		drawStates(c, p, lines, over)
	case "timeseries":
		return drawLines(c, p, lines, over)
	default:
		return fmt.Errorf("no way to draw a panel of the type %s", p.Type)
	}
	return nil
}

func fill(c canvas, with color.Color) {
	c.SetColor(with)
	c.Fill(c.Rectangle.Path())
}

// style of a text.
func style(size float64, bold bool, with color.Color) text.Style {
	s := text.Style{Color: with, Handler: plot.DefaultTextHandler, Font: font.From(plot.DefaultFont, vg.Points(size)), YAlign: text.YCenter}
	s.Font.Variant = "Sans"
	if bold {
		s.Font.Weight = 3
	}
	return s
}

// write a text at the left, in the middle of the height.
func write(c canvas, s string, size float64, bold bool, with color.Color) {
	c.FillText(style(size, bold, with), vg.Point{X: c.Min.X, Y: (c.Min.Y + c.Max.Y) / 2}, s)
}
