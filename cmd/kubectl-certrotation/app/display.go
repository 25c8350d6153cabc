// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// progressDisplay shows the progress of a wait.
type progressDisplay interface {
	// show is called on every change, and also every second if the screen redraws.
	show(p *progress, now time.Time)
	// close is called once, before anything else is printed.
	close()
}

const timeOfDay = "15:04:05"

type lineDisplay struct {
	out  io.Writer
	last string
}

func (d *lineDisplay) show(p *progress, now time.Time) {
	line := p.line()
	if line == d.last {
		return
	}
	d.last = line
	fmt.Fprintf(d.out, "%s %s\n", now.Format(timeOfDay), line)
}

func (d *lineDisplay) close() {}

// maxBlockers bounds the blocker lines of a block, so that the block fits a terminal. Lines that have scrolled away
// cannot be redrawn.
const maxBlockers = 8

// blockDisplay redraws a block of lines in place.
type blockDisplay struct {
	out    io.Writer
	screen func() screen
	// drawn is the text on the screen, and lines its number of lines.
	drawn string
	lines int
}

func (d *blockDisplay) show(p *progress, now time.Time) {
	s := d.screen()
	lines := block(p, now)
	var out strings.Builder
	for _, c := range lines {
		out.WriteString(s.paint(c.style, cut(c.text, s.width-1)))
		out.WriteByte('\n')
	}
	if out.String() == d.drawn {
		return
	}
	// A single write, so that the terminal never shows half a block.
	_, _ = io.WriteString(d.out, d.eraser()+out.String())
	d.drawn, d.lines = out.String(), len(lines)
}

// close leaves the last state on the screen.
func (d *blockDisplay) close() { d.drawn, d.lines = "", 0 }

// eraser moves the cursor to the start of the block and clears the rest of the screen.
func (d *blockDisplay) eraser() string {
	if d.lines == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", d.lines)
}

func block(p *progress, now time.Time) []cell {
	head := fmt.Sprintf("%s  %s %s  (total %s)", p.target, p.stage(), elapsed(now.Sub(p.stageSince())), elapsed(now.Sub(p.begun)))
	lines := []cell{{head, strong}}
	if p.main != nil && p.started {
		if until, over := deadline(now, p.main.Status.StageDeadline); until != "" {
			lines = append(lines, cell{"  " + until, badIf(over)})
		}
	}
	for _, fact := range p.facts() {
		lines = append(lines, cell{text: "  " + fact})
	}
	list := p.blockers()
	for i := range list[:min(len(list), maxBlockers)] {
		lines = append(lines, cell{"  waits for " + blockerText(&list[i]) + age(&list[i], now), warn})
	}
	if more := len(list) - maxBlockers; more > 0 {
		lines = append(lines, cell{"  and for " + plural(more, "other"), warn})
	}
	if p.trouble != "" {
		lines = append(lines, cell{"  no connection, trying again: " + p.trouble, bad})
	}
	return lines
}

// cut shortens a text to width columns: a line that wraps cannot be redrawn.
func cut(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-3, 0)]) + "..."
}

// newDisplay picks a display for the standard output and reports whether it redraws. The terminal size is read again
// for each drawing.
func (p *plugin) newDisplay() (progressDisplay, bool) {
	current := func() screen { return p.screen(false) }
	if current().redraws {
		return &blockDisplay{out: p.Streams.Out, screen: current}, true
	}
	return &lineDisplay{out: p.Streams.Out}, false
}
