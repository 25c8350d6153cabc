// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"slices"
	"strings"
	"testing"
)

type table struct {
	header []string
	rows   [][]string
}

// tables returns the tables under a heading, up to the next heading of the same level.
func tables(t *testing.T, page, heading string) []table {
	t.Helper()
	_, text, found := strings.Cut(read(t, page), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return tablesIn(text)
}

func tablesIn(text string) []table {
	var out []table
	inside := false
	for line := range strings.SplitSeq(text, "\n") {
		cells, is := cellsOf(line)
		switch {
		case !is:
		case !inside:
			out = append(out, table{header: cells})
		case strings.HasPrefix(cells[0], "---"):
		default:
			at := &out[len(out)-1]
			at.rows = append(at.rows, cells)
		}
		inside = is
	}
	return out
}

func cellsOf(line string) ([]string, bool) {
	inner, is := strings.CutPrefix(line, "|")
	if !is {
		return nil, false
	}
	cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(inner), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells, true
}

// explained returns the rows of the tables with this first column, by the names in code in their first cell. Each
// row must have an explanation, and each name must be unique.
func explained(t *testing.T, of []table, column string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, one := range of {
		if one.header[0] != column {
			continue
		}
		for _, row := range one.rows {
			if len(row) != len(one.header) || row[1] == "" {
				t.Errorf("the row of %s says nothing, or has another number of cells than its table", row[0])
			}
			for _, name := range inCode(row[0]) {
				if out[name] != nil {
					t.Errorf("%s is explained twice", name)
				}
				out[name] = row
			}
		}
	}
	return out
}

// inCode returns the texts in code in a cell.
func inCode(cell string) []string {
	var out []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		out = append(out, match[1])
	}
	return out
}

// same reports names of the code that the page does not explain, and explained names that no code has.
func same(t *testing.T, what, page string, made []string, rows map[string][]string) {
	t.Helper()
	if len(made) == 0 || len(rows) == 0 {
		t.Errorf("%s: the code has %d, and %s %d", what, len(made), page, len(rows))
	}
	for _, name := range made {
		if rows[name] == nil {
			t.Errorf("%s does not explain the %s %s", page, what, name)
		}
	}
	for name := range rows {
		if !slices.Contains(made, name) {
			t.Errorf("%s explains the %s %s, which no code has", page, what, name)
		}
	}
}
