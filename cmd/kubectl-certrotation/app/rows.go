// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"unicode/utf8"
)

type cell struct {
	text  string
	style style
}

// row is a line of a tree with the lines below it. The cells of sibling rows are aligned, except in rows with a
// single cell.
type row struct {
	cells    []cell
	children []row
}

func text(words ...string) row {
	return row{cells: []cell{{text: strings.Join(words, " ")}}}
}

func (s screen) draw(out *strings.Builder, r row) {
	s.line(out, r.cells, nil)
	s.drawChildren(out, "", r.children)
}

func (s screen) drawChildren(out *strings.Builder, prefix string, rows []row) {
	g := s.glyphs()
	widths := columns(rows)
	for i, r := range rows {
		connector, below := g.branch, g.trunk
		if i == len(rows)-1 {
			connector, below = g.last, g.space
		}
		out.WriteString(s.paint(faint, prefix+connector))
		s.line(out, r.cells, widths)
		s.drawChildren(out, prefix+below, r.children)
	}
}

// line writes the cells of a row, each as wide as its column. It pads nothing after the last cell that has text.
func (s screen) line(out *strings.Builder, cells []cell, widths []int) {
	last := len(cells) - 1
	for last > 0 && cells[last].text == "" {
		last--
	}
	for i := 0; i <= last; i++ {
		out.WriteString(s.paint(cells[i].style, cells[i].text))
		if i == last {
			break
		}
		padding := 2
		if i < len(widths) {
			padding += max(0, widths[i]-utf8.RuneCountInString(cells[i].text))
		}
		out.WriteString(strings.Repeat(" ", padding))
	}
	out.WriteByte('\n')
}

func columns(rows []row) []int {
	var widths []int
	for _, r := range rows {
		if len(r.cells) < 2 {
			continue
		}
		for i, c := range r.cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	return widths
}
