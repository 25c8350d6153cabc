// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"certrotation.dev/registry/trust"
)

// patience is how many steps may pass until a mutant is found.
const patience = 200_000

// TestMutantsAreCaught plays every mutant that is not rare until an invariant is broken. The guard does not judge
// the writes of leaders.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	catchMutants(t, 1, slices.DeleteFunc(allMutants(), func(m mutant) bool { return m.rare }))
}

// TestExtendedMutantsAreCaught plays all mutants, each often enough for a median.
func TestExtendedMutantsAreCaught(t *testing.T) { catchMutants(t, 3, allMutants()) }

func allMutants() []mutant { return slices.Concat(mutants(), ofPods()) }

func catchMutants(t *testing.T, hunts uint64, hunted []mutant) {
	t.Helper()
	var all []int
	for _, m := range hunted {
		t.Run(m.name, func(t *testing.T) {
			var took []int
			var found error
			for seed := range hunts {
				steps, err := hunt(&m, seed+1)
				if err == nil {
					t.Fatalf("not caught in %d steps with the seed %d", steps, seed+1)
				}
				took, found = append(took, steps), err
			}
			slices.Sort(took)
			all = append(all, took[len(took)/2])
			t.Logf("caught after %d steps (median; least %d, most %d), such as: %v",
				took[len(took)/2], took[0], took[len(took)-1], found)
			fmt.Printf("simulation: mutant caught after %5d steps (median of %d): %s\n", took[len(took)/2], len(took), m.name)
		})
	}
	fmt.Printf("simulation: %d of %d mutants caught\n", len(all), len(hunted))
}

// TestNoMutantIsNone shows that the hunt finds nothing in the real protocol.
func TestNoMutantIsNone(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		for _, pods := range []bool{false, true} {
			none := mutant{make: func() Protocol { return trust.Assess }, pods: pods}
			if err := story(newRandomDice(seed+1), &none, newCounts()); err != nil {
				t.Errorf("seed %d, pods %t: %v", seed+1, pods, err)
			}
		}
	}
}

// ofPods are the mutants that are hunted in worlds with pods.
func ofPods() []mutant { return slices.Concat(podMutants(), startedMutants(), targetMutants()) }

// TestMutantsOfPodsAreOfTheProtocol shows that the real protocol keeps the invariants in the worlds of these
// mutants.
func TestMutantsOfPodsAreOfTheProtocol(t *testing.T) {
	t.Parallel()
	for _, m := range ofPods() {
		t.Run(m.name, func(t *testing.T) {
			m.make, m.loosens = func() Protocol { return trust.Assess }, nil
			for seed := range uint64(10) {
				if err := story(newRandomDice(seed+1), &m, newCounts()); err != nil {
					t.Errorf("seed %d: %v", seed+1, err)
				}
			}
		})
	}
}

// hunt plays stories until one breaks an expected invariant, and returns the number of steps.
func hunt(m *mutant, seed uint64) (int, error) {
	d, c := newRandomDice(seed), newCounts()
	for c.steps < patience {
		err := story(d, m, c)
		if v := (*violation)(nil); errors.As(err, &v) && len(m.breaks) > 0 && !slices.Contains(m.breaks, v.promise) {
			// Breaking another invariant does not show that this one can be found.
			continue
		}
		if err != nil {
			return c.steps, err
		}
	}
	return c.steps, nil
}

// story plays a world with sixty events, and brings it to rest.
func story(d dice, m *mutant, c *counts) error {
	draw := drawTopology
	if m.pods {
		draw = drawPods
	}
	t, o := draw(d), options{dice: d, protocol: m.make(), counts: c}
	if m.shape != nil {
		m.shape(&t)
	}
	if m.loosens != nil {
		m.loosens(&o)
	}
	w, err := newWorld(t, o)
	if err != nil {
		return err
	}
	defer w.close()
	all, _ := w.topology.events()
	for i := range all {
		if slices.Contains(m.often, all[i].name) {
			all[i].weight *= 6
		}
	}
	list := weighted(slices.DeleteFunc(all, func(e event) bool { return len(m.only) > 0 && !slices.Contains(m.only, e.name) }))
	for range 60 {
		if _, err := w.step(&list[d.roll(len(list), "event")]); err != nil {
			return err
		}
	}
	return w.rest()
}
