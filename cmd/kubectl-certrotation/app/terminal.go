// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import "strings"

// screen is what the output can display.
type screen struct {
	// width in columns, 0 if the output is not a terminal.
	width   int
	colour  bool
	unicode bool
	// redraws reports whether the cursor can be moved.
	redraws bool
}

// screen inspects the terminal behind the standard output and the environment.
func (p *plugin) screen(ascii bool) screen {
	width := p.TerminalWidth(p.Streams.Out)
	dumb := p.Getenv("TERM") == "dumb"
	return screen{
		width:   width,
		colour:  width > 0 && !dumb && p.Getenv("NO_COLOR") == "",
		unicode: width > 0 && !ascii && p.utf8Locale(),
		redraws: width > 0 && !dumb,
	}
}

// utf8Locale follows the precedence of POSIX: the first variable that is set decides.
func (p *plugin) utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := p.Getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// style of a piece of text. The value is its SGR parameter.
type style string

const (
	plain  style = ""
	strong style = "1"
	faint  style = "2"
	bad    style = "31"
	good   style = "32"
	warn   style = "33"
)

func (s screen) paint(as style, text string) string {
	if !s.colour || as == plain || text == "" {
		return text
	}
	return "\x1b[" + string(as) + "m" + text + "\x1b[0m"
}

// glyphs are the characters that draw a tree.
type glyphs struct {
	branch, last, trunk, space string
	yes, no                    string
}

func (s screen) glyphs() glyphs {
	if s.unicode {
		return glyphs{branch: "├── ", last: "└── ", trunk: "│   ", space: "    ", yes: "✓", no: "✗"}
	}
	return glyphs{branch: "|-- ", last: "`-- ", trunk: "|   ", space: "    ", yes: "yes", no: "no"}
}
