// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"regexp"
	"strings"
	"testing"
)

// longest is how many functions each way has at most, so that none grows unseen.
var longest = map[string]int{
	"A Secret to its API row":           30,
	"A review to its denial":            25,
	"`rotate` to the first write":       28,
	"A handshake to the next stage":     32,
	"A revision to the files of a node": 28,
}

var (
	heading = regexp.MustCompile(`^### (.+)$`)
	// hop is a function of a way, and handedOver a line that says by what the work gets to the next one.
	hop        = regexp.MustCompile("^[0-9]+\\. `([a-z][a-z0-9]*(?:\\.\\w+){1,2})`: \\S")
	handedOver = regexp.MustCompile(`^   \*then by .+\*$`)
)

// way is a list of functions in the order in which they are called.
type way struct {
	functions []string
	// handed are the indices of functions that no one before calls.
	handed map[int]bool
}

// TestWays holds the ways in docs/architecture.md to the code: what they name exists, and each function is called by one
// before it.
func TestWays(t *testing.T) {
	t.Parallel()
	c := theCode(t)
	found := ways(t, read(t, "docs/architecture.md"))
	for name, most := range longest {
		w := found[name]
		if w == nil {
			t.Errorf("docs/architecture.md has no way %q", name)
			continue
		}
		if n := len(w.functions); n < 2 || n > most {
			t.Errorf("%s: %d functions, want 2 to %d", name, n, most)
		}
		for i, function := range w.functions {
			if _, ok := c.declared[function]; !ok {
				t.Errorf("%s: %s does not exist", name, function)
				continue
			}
			if i > 0 && !w.handed[i] && !c.called(w.functions[:i], function) {
				t.Errorf("%s: none of the functions before %s calls it: name what does, or say by what it is handed over", name, function)
			}
		}
	}
}

func (c *code) called(by []string, function string) bool {
	name := function[strings.LastIndex(function, ".")+1:]
	for _, caller := range by {
		if mentions(c.declared[caller], name) {
			return true
		}
	}
	return false
}

func ways(t *testing.T, page string) map[string]*way {
	t.Helper()
	_, page, _ = strings.Cut(page, "\n## The five ways\n")
	page, _, _ = strings.Cut(page, "\n## ")
	found := map[string]*way{}
	var at *way
	for line := range strings.SplitSeq(page, "\n") {
		if match := heading.FindStringSubmatch(line); match != nil {
			at = &way{handed: map[int]bool{}}
			found[match[1]] = at
			continue
		}
		switch match := hop.FindStringSubmatch(line); {
		case at == nil:
		case match != nil:
			at.functions = append(at.functions, match[1])
		case handedOver.MatchString(line):
			at.handed[len(at.functions)] = true
		case regexp.MustCompile(`^\s*[0-9]+\.`).MatchString(line):
			t.Errorf("a line of a way names no function: %q", line)
		}
	}
	return found
}
