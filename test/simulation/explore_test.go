// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"testing"

	"certrotation.dev/registry/trust"
)

// mostStates is how many states an exploration tries at most. It ends long before. A limit of states instead of
// time lets a slow machine come to the same end.
const mostStates = 100_000

// TestEverythingInTheSmallWorld tries every order of these moves in the middle of a rotation: a leader reconciles,
// with current or old caches, and may crash after a write; processes load and are observed; a leaf is deleted.
func TestEverythingInTheSmallWorld(t *testing.T) {
	t.Parallel()
	exploreSmallWorld(t, nil, secondProcess)
}

// TestExtendedRosterEditInTheSmallWorld tries them with an edit of who counts, too.
func TestExtendedRosterEditInTheSmallWorld(t *testing.T) {
	exploreSmallWorld(t, rosterEdits, secondProcess, rosterEdit)
}

func exploreSmallWorld(t *testing.T, more func(*world) []move, asked ...happening) {
	t.Helper()
	c := newCounts()
	x := &explorer{protocol: trust.Assess, counts: c, more: more}
	if err := x.explore(smallWorld(), mostStates); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%d states, %d moves, every story of %d moves (complete: %t), %d handshakes, %d rotations completed, %d violations",
		x.states, x.moves, x.depth, x.complete, c.handshakes, c.rotations, c.violations)
	t.Log(text)
	fmt.Println("simulation: small world:", text)
	if !x.complete {
		t.Errorf("only stories of %d moves were tried", x.depth)
	}
	for _, h := range asked {
		if c.events[h] == 0 {
			t.Errorf("it has not happened that %s", h)
		}
	}
}

// TestExplorerFindsMutants shows that the small world is large enough: the explorer finds the mutants that need no
// more, by a shortest story.
func TestExplorerFindsMutants(t *testing.T) {
	t.Parallel()
	all := mutants()
	for _, name := range []string{
		"no gate", "the gate counts instead of looking at content", "promote on the first evidence",
		"forget the previous signer at the promotion", "sign with next before it is published", "sign everything anew when a leaf is missing",
	} {
		at := slices.IndexFunc(all, func(m mutant) bool { return m.name == name })
		if at < 0 {
			t.Fatalf("there is no mutant %q", name)
		}
		m := all[at]
		t.Run(name, func(t *testing.T) {
			x := &explorer{protocol: m.make(), counts: newCounts()}
			err := x.explore(smallWorld(), mostStates)
			if err == nil {
				t.Fatalf("not found in %d states", x.states)
			}
			t.Logf("found after %d moves: %v", x.moves, err)
		})
	}
}
