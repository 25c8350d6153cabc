// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

// rapidDice lets rapid decide. rapid ends a story with a panic, which the controller would recover. So the panic is
// kept until the event is over.
type rapidDice struct {
	t     *rapid.T
	ended any
}

func (d *rapidDice) roll(n int, what string) (rolled int) {
	if d.ended != nil {
		return 0
	}
	defer func() { d.ended = recover() }()
	return rapid.IntRange(0, n-1).Draw(d.t, what)
}

// resume lets rapid end the story.
func (d *rapidDice) resume() {
	if d.ended != nil {
		panic(d.ended)
	}
}

// stepsInCI is the number of steps of TestSimulation.
const stepsInCI = 50_000

// budget is STEPS of the environment, or the number of steps in CI.
func budget(t *testing.T) int {
	t.Helper()
	text := os.Getenv("STEPS")
	if text == "" {
		return stepsInCI
	}
	steps, err := strconv.Atoi(text)
	if err != nil || steps < 1 {
		t.Fatalf("STEPS=%q is no number of steps", text)
	}
	return steps
}

// worlds returns how to draw a world, and the happenings that a search must see. By default one world in five has
// pods. WORLDS=pods, WORLDS=started or WORLDS=issued in the environment selects other worlds.
func worlds(t *testing.T) (func(dice) topology, map[happening]int) {
	t.Helper()
	switch text := os.Getenv("WORLDS"); text {
	case "":
		return drawWorld, leastOfAll()
	case "pods":
		return drawPods, leastOfPods()
	case "started":
		return drawStarted, nil
	case "issued":
		return drawIssued, leastOfIssuers()
	default:
		t.Fatalf("WORLDS=%q is neither empty, pods, started nor issued", text)
		return nil, nil
	}
}

// worldsPerCheck is how many worlds rapid draws from one seed.
const worldsPerCheck = 100

// TestSimulation plays random stories until the budget is used up, and brings each to rest.
func TestSimulation(t *testing.T) {
	t.Parallel()
	draw, least := worlds(t)
	simulate(t, draw, least, budget(t), property.Seed(t))
}

// TestExtendedSimulation plays other stories than TestSimulation, which uses up fewer seeds than steps.
func TestExtendedSimulation(t *testing.T) {
	for name, tt := range map[string]struct {
		draw  func(dice) topology
		least map[happening]int
		steps int
	}{"all": {drawWorld, leastOfAll(), 200_000}, "started": {drawStarted, nil, 100_000}} {
		t.Run(name, func(t *testing.T) { simulate(t, tt.draw, tt.least, tt.steps, property.Seed(t)+stepsInCI) })
	}
}

func simulate(t *testing.T, draw func(dice) topology, least map[happening]int, steps int, first uint64) {
	t.Helper()
	total := newCounts()
	begin, told := time.Now(), time.Now()
	search := property.Search{Seed: first, Checks: worldsPerCheck, Steps: 50, ShrinkTime: 20 * time.Second}
	for ; total.steps < steps; search.Seed++ {
		// rapid replays a failed story many times. Only the first time counts.
		search.Check(t, func(rt *rapid.T) { play(rt, draw, total) })
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Printf("simulation: seed %d, %.0f steps/s, %s\n", first, rate(total, begin), total)
		}
	}
	t.Logf("seed %d, %.0f steps/s: %s", first, rate(total, begin), total)
	fmt.Println("simulation: what happened:", total.report())
	fmt.Printf("simulation: the longest way back, of %d rounds:\n  %s\n", total.rounds, strings.Join(total.longest, "\n  "))
	if total.steps >= stepsInCI {
		for _, text := range total.lacking(least) {
			t.Errorf("the search proves little: %s", text)
		}
	}
	fmt.Printf("simulation: seed %d, %.0f steps/s, %s\n", first, rate(total, begin), total)
}

func rate(c *counts, begin time.Time) float64 { return float64(c.steps) / time.Since(begin).Seconds() }

func play(rt *rapid.T, draw func(dice) topology, c *counts) {
	d, most := &rapidDice{t: rt}, c.rounds
	var lines []string
	log := func(format string, args ...any) {
		lines = append(lines, fmt.Sprintf(format, args...))
		rt.Logf(format, args...)
	}
	w, err := newWorld(draw(d), options{dice: d, protocol: trust.Assess, counts: c, log: log, judging: true, truthful: true})
	d.resume()
	if err != nil {
		rt.Fatal(err)
	}
	defer w.close()
	fail := func(err error) {
		if err != nil {
			c.violations++
			rt.Fatal(err)
		}
	}
	all, _ := w.topology.events()
	actions := map[string]func(*rapid.T){}
	for _, e := range all {
		for i := range e.weight {
			actions[fmt.Sprintf("%s %d", e.name, i)] = func(*rapid.T) {
				done, err := w.step(&e)
				d.resume()
				fail(err)
				if !done {
					rt.Skip("it cannot happen now")
				}
			}
		}
	}
	rt.Repeat(actions)
	begin := len(lines)
	fail(w.rest())
	if c.rounds > most {
		c.longest = lines[begin:]
	}
}
