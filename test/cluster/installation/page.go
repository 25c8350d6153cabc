// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// page is what people read who install certrotation.
const page = "docs/install.md"

// block is a fenced block of a page.
type block struct {
	// language is empty for a block of commands.
	language string
	lines    []string
}

// section returns the blocks below a heading of the page, up to the next heading.
func (in *Installation) section(heading string) ([]block, error) {
	text, err := os.ReadFile(filepath.Join(in.root, page))
	if err != nil {
		return nil, err
	}
	_, after, found := strings.Cut(string(text), "\n## "+heading+"\n")
	if !found {
		return nil, fmt.Errorf("%s has no heading %q", page, heading)
	}
	below, _, _ := strings.Cut(after, "\n## ")
	blocks := fenced(below)
	if len(blocks) == 0 {
		return nil, fmt.Errorf("%s has nothing to do below the heading %q", page, heading)
	}
	return blocks, nil
}

func fenced(text string) []block {
	var blocks []block
	var open *block
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch fence, is := strings.CutPrefix(line, "```"); {
		case is && open == nil:
			open = &block{language: fence}
		case is:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.lines = append(open.lines, line)
		}
	}
	return blocks
}

// file is the name that the first line of a block in YAML gives it, as a comment; empty for a block that is no file.
func (b *block) file() string {
	if b.language != "yaml" || len(b.lines) == 0 {
		return ""
	}
	name, is := strings.CutPrefix(b.lines[0], "# ")
	if !is || !strings.HasSuffix(name, ".yaml") {
		return ""
	}
	return name
}

// commands are the lines behind a prompt, with those in which they go on after a backslash. What a command prints stands below it.
func (b *block) commands() []string {
	var commands []string
	if b.language != "" {
		return nil
	}
	goesOn := false
	for _, line := range b.lines {
		command, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case prompt:
			commands = append(commands, command)
		case goesOn:
			commands[len(commands)-1] += "\n" + line
		}
		goesOn = (prompt || goesOn) && strings.HasSuffix(line, `\`)
	}
	return commands
}
