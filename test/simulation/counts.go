// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// counts of what happened in worlds.
type counts struct {
	worlds, steps, writes, handshakes, verifications   int
	rotations, aborts, edits, refusedEdits, violations int
	// rounds is the largest number of rounds until rest, longest is what happened in them.
	rounds  int
	longest []string
	// faults by kind.
	faults map[string]int
	// events by kind.
	events map[happening]int
}

func newCounts() *counts { return &counts{faults: map[string]int{}, events: map[happening]int{}} }

func (c *counts) injected() int {
	n := 0
	for _, k := range c.faults {
		n += k
	}
	return n
}

// String is one line.
func (c *counts) String() string {
	kinds := make([]string, 0, len(c.faults))
	for _, kind := range slices.Sorted(maps.Keys(c.faults)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, c.faults[kind]))
	}
	return fmt.Sprintf("%d worlds, %d steps, %d writes, %d handshakes (%d verified anew), %d rotations completed, %d aborted, "+
		"%d edits (%d more refused), %d faults (%s), at rest after %d rounds at most, %d violations",
		c.worlds, c.steps, c.writes, c.handshakes, c.verifications, c.rotations, c.aborts,
		c.edits, c.refusedEdits, c.injected(), strings.Join(kinds, ", "), c.rounds, c.violations)
}
