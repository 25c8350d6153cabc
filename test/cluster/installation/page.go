// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// page is the installation page of the documentation.
const page = "docs/install.md"

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

// file returns the file name that a comment in the first line of a YAML block gives, "" for other blocks.
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

// commands returns the lines after a prompt, joined with their continuations after a backslash. It skips the printed
// output.
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
