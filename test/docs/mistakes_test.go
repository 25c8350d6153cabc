// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// registers are the letters of docs/mistakes.md with the number of their entries.
var registers = map[string]int{"H": 24, "G": 13, "K": 15, "T": 35, "S": 7, "B": 15}

var mistake = regexp.MustCompile(`(?m)^\| ([HGKTSB][0-9]+) \| (\S.*) \| (\S.*) \|$`)

// TestMistakes: docs/mistakes.md has each entry once, and names only tests that exist.
func TestMistakes(t *testing.T) {
	t.Parallel()
	entries := map[string][]string{}
	for _, match := range mistake.FindAllStringSubmatch(read(t, "docs/mistakes.md"), -1) {
		id, shownBy := match[1], match[3]
		if _, twice := entries[id]; twice {
			t.Errorf("%s is there twice", id)
		}
		entries[id] = strings.Split(shownBy, ", ")
	}
	for letter, n := range registers {
		for i := 1; i <= n; i++ {
			if id := fmt.Sprintf("%s%d", letter, i); entries[id] == nil {
				t.Errorf("%s is missing", id)
			}
		}
	}
	want := 0
	for _, n := range registers {
		want += n
	}
	if len(entries) != want {
		t.Errorf("there are %d entries, want %d", len(entries), want)
	}
	known := map[string]map[string]bool{}
	for id, shownBy := range entries {
		if strings.HasPrefix(shownBy[0], "open: ") {
			continue
		}
		for _, one := range shownBy {
			dir, test, _ := strings.Cut(strings.Trim(one, "`"), " ")
			if known[dir] == nil {
				known[dir] = testsOf(t, dir)
			}
			if !known[dir][test] {
				t.Errorf("%s names %s, which does not exist", id, one)
			}
		}
	}
}
