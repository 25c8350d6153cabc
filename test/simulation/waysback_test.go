// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"testing"

	"certrotation.dev/registry/trust"
)

// statesOfJumps is how many states are tried with jumping clocks and deletions, which lead to an unlimited number
// of states.
const statesOfJumps = 10_000

// TestExtendedWaysBack shows that every state of the small world leads back to rest: by time, loads, observations,
// and what the blockers say (helpOut). Clocks may also jump by decades, and people may delete what the guard
// admits.
func TestExtendedWaysBack(t *testing.T) {
	for _, tt := range []struct {
		name     string
		more     func(*world) []move
		most     int
		complete bool
	}{
		{name: "small world", more: rosterEdits, most: mostStates, complete: true},
		{name: "jumps and deletions", more: jumpsAndDeletions, most: statesOfJumps},
	} {
		t.Run(tt.name, func(t *testing.T) {
			longest, story := -1, ""
			x := &explorer{protocol: trust.Assess, counts: newCounts(), more: tt.more}
			x.each = func(n *node) error {
				rounds, err := n.world.wayBack()
				if err != nil {
					return fmt.Errorf("no way back: %w", err)
				}
				if rounds > longest {
					longest, story = rounds, n.story()
				}
				return nil
			}
			if err := x.explore(smallWorld(), tt.most); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("%d states (complete: %t), each at rest after %d rounds at most; the longest way is from: %s",
				x.states, x.complete, longest, story)
			t.Log(text)
			fmt.Println("simulation: ways back:", tt.name+":", text)
			if tt.complete && !x.complete {
				t.Errorf("only stories of %d moves were tried", x.depth)
			}
		})
	}
}

// wayBack lets a new leader bring a copy of a world to rest, as states of the explorer have no leader. It returns
// the number of rounds.
func (w *world) wayBack() (rounds int, err error) {
	back := w.clone()
	back.counts = newCounts()
	l, err := newLeader(back, "the leader", 0)
	if err != nil {
		return 0, err
	}
	back.leaders = []*leader{l}
	defer back.close()
	err = back.rest()
	return back.counts.rounds, err
}

func jumpsAndDeletions(w *world) []move {
	d := w.domains().Domains[0]
	out := append(rosterEdits(w), []move{
		{name: "the signer is deleted", do: func(w *world) error { w.apply(w.deletesSigner(w.domains().Domains[0])); return nil }},
		{name: "the bundle is deleted", do: func(w *world) error { w.apply(w.deletesBundle(w.domains().Domains[0])); return nil }},
	}...)
	switch {
	case w.ahead > 0:
		out = append(out, move{name: "the clocks come back", do: func(w *world) error { w.clocksComeBack(); return nil }})
	case !w.returned && d.Signer.Active != nil:
		out = append(out, move{name: "all clocks jump by decades", do: func(w *world) error { w.clocksJumpBy(decades); return nil }})
	}
	return out
}
