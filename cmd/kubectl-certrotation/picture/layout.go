// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Sizes of a drawing in pixels.
const (
	boxWidth, boxHeight = 248, 46
	columnGap, rowGap   = 64, 10
	margin              = 8
	titleHeight         = 30
	legendHeight        = 36
	nameSize            = 13.0
	remarkSize          = 11.5
	// textInset is what a box needs beside its text.
	textInset = 26
)

// drawing is a graph with a place for everything.
type drawing struct {
	Label         string
	Width, Height int
	Titles        []label
	Boxes         []box
	Lines         []line
	Legend        []legend
}

type label struct {
	X, Y int
	Text string
}

type box struct {
	X, Y, Width, Height int
	// Full is the text that Name and Remark may have cut.
	Name, Remark, Full string
	State              State
}

type line struct {
	// Path and Head are paths of SVG: the curve and the arrow at its end.
	Path, Head string
	State      State
	Full       string
}

type legend struct {
	X, Y, TextX, TextY int
	Text               string
	State              State
}

// layout places columns from left to right, and the nodes of each in the middle of the height.
func (g Graph) layout() drawing {
	folded := g.fold()
	rows := 1
	for _, c := range folded.Columns {
		rows = max(rows, len(c.Nodes))
	}
	body := rows*(boxHeight+rowGap) - rowGap
	d := drawing{
		Label:  visible(g.Title),
		Width:  2*margin + 4*boxWidth + 3*columnGap,
		Height: 2*margin + titleHeight + body + legendHeight,
	}
	places := map[string]box{}
	for i, c := range folded.Columns {
		x := margin + i*(boxWidth+columnGap)
		d.Titles = append(d.Titles, label{x, margin + 14, fit(c.Title, nameSize, boxWidth)})
		y := margin + titleHeight + (body-len(c.Nodes)*(boxHeight+rowGap)+rowGap)/2
		for _, n := range c.Nodes {
			placed := n.place(x, y)
			places[n.ID] = placed
			d.Boxes = append(d.Boxes, placed)
			y += boxHeight + rowGap
		}
	}
	// The worst are drawn last, on top of the others.
	slices.SortStableFunc(folded.Edges, func(a, b Edge) int { return a.State.severity() - b.State.severity() })
	for _, e := range folded.Edges {
		if from, to := places[e.From], places[e.To]; from.X != to.X {
			d.Lines = append(d.Lines, connect(from, to, e))
		}
	}
	d.addLegend(d.Height - legendHeight/2)
	return d
}

func (n *Node) place(x, y int) box {
	return box{
		X: x, Y: y, Width: boxWidth, Height: boxHeight, State: n.State,
		Name:   fit(n.Name, nameSize, boxWidth-textInset),
		Remark: fit(n.Remark, remarkSize, boxWidth-textInset),
		Full:   visible(strings.Trim(n.Name+": "+n.Remark, ": ")),
	}
}

// connect draws from the side of one box to the facing side of the other.
func connect(from, to box, e Edge) line {
	const head, half = 8, 4
	startX, endX, back := from.X+boxWidth, to.X, -head
	if from.X > to.X {
		startX, endX, back = from.X, to.X+boxWidth, head
	}
	startY, endY := from.Y+boxHeight/2, to.Y+boxHeight/2
	middle := (startX + endX) / 2
	return line{
		Path:  fmt.Sprintf("M%d %dC%d %d %d %d %d %d", startX, startY, middle, startY, middle, endY, endX+back, endY),
		Head:  fmt.Sprintf("M%d %dl%d %dv%dz", endX, endY, back, -half, 2*half),
		State: e.State,
		Full:  visible(from.Full + ": " + e.Label + ": " + to.Full),
	}
}

func (d *drawing) addLegend(y int) {
	x := margin
	for _, each := range []struct {
		text  string
		state State
	}{
		{"signs, is published in", Plain}, {"trusts", Good}, {"unknown", Unknown},
		{"waived, or still unknown in a rotation", Warn}, {"does not trust", Bad},
	} {
		d.Legend = append(d.Legend, legend{x, y, x + 34, y + 4, each.text, each.state})
		x += 34 + int(width(each.text, remarkSize)) + 28
	}
}

// fit makes a text fit: it cuts the middle, because names often share their beginning.
func fit(text string, size float64, available int) string {
	text = visible(text)
	if width(text, size) <= float64(available) {
		return text
	}
	runes := []rune(text)
	for keep := len(runes) - 1; keep > 0; keep-- {
		head := (keep + 1) / 2
		if cut := string(runes[:head]) + "…" + string(runes[len(runes)-(keep-head):]); width(cut, size) <= float64(available) {
			return cut
		}
	}
	return "…"
}

// width estimates the width of a text. Which font draws it is unknown, so it assumes a wide one.
func width(text string, size float64) float64 {
	sum := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijlI.,:;'|! ", r):
			sum += 0.36
		case strings.ContainsRune("frt()[]{}-/\\", r):
			sum += 0.44
		case strings.ContainsRune("mwMW@%…+=<>~#", r), r > unicode.MaxASCII:
			sum += 1.02
		case unicode.IsUpper(r):
			sum += 0.76
		default:
			sum += 0.65
		}
	}
	return sum * size
}
