// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"certrotation.dev/registry/trust"
)

// rapidDice has rapid roll. rapid ends a story by a panic, which must not reach the controller, as that survives panics:
// it is kept until the event is over.
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

// resume lets rapid end the story, if it wanted to.
func (d *rapidDice) resume() {
	if d.ended != nil {
		panic(d.ended)
	}
}

// budget is the number of steps of TestSimulation, or STEPS of the environment.
func budget(t *testing.T) int {
	t.Helper()
	text := os.Getenv("STEPS")
	if text == "" {
		return 100_000
	}
	steps, err := strconv.Atoi(text)
	if err != nil || steps < 1 {
		t.Fatalf("STEPS=%q is no number of steps", text)
	}
	return steps
}

// defaultSeed of `make test`, which always plays the same stories, so that it fails for what changed and not by luck.
const defaultSeed = 20261121

// seed is where rapid begins: SEED of the environment; without it one of the clock for a search that was asked for by
// STEPS (`make simulate`), and the default for a test.
func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("SEED")
	switch {
	case text != "":
	case os.Getenv("STEPS") != "":
		return uint64(time.Now().UnixNano())
	default:
		return defaultSeed
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SEED=%q is no seed", text)
	}
	return n
}

// worlds are what is rolled, and what has to happen in it: one world in five has pods, and each if WORLDS of the environment
// is "pods".
func worlds(t *testing.T) (func(dice) topology, map[happening]int) {
	t.Helper()
	switch text := os.Getenv("WORLDS"); text {
	case "":
		return drawWorld, leastInCI()
	case "pods":
		return drawPods, leastOfPods()
	case "started":
		return drawStarted, nil
	default:
		t.Fatalf("WORLDS=%q is neither empty nor pods", text)
		return nil, nil
	}
}

// fewSteps are so few that not everything need happen in them.
const fewSteps = 100_000

// worldsPerCheck is how many worlds rapid makes of one seed.
const worldsPerCheck = 100

// TestSimulation plays random stories until the budget is used up, and lets each come to rest.
func TestSimulation(t *testing.T) {
	steps, first, total := budget(t), seed(t), newCounts()
	draw, least := worlds(t)
	for name, value := range map[string]string{
		"rapid.checks": strconv.Itoa(worldsPerCheck), "rapid.steps": "50", "rapid.nofailfile": "true", "rapid.shrinktime": "20s",
	} {
		set(t, name, value)
	}
	begin, told := time.Now(), time.Now()
	for n := uint64(0); total.steps < steps; n++ {
		set(t, "rapid.seed", strconv.FormatUint(first+n, 10))
		// rapid plays a story that failed again and again; only the first time counts.
		rapid.Check(t, func(rt *rapid.T) { play(rt, draw, total) })
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Printf("simulation: seed %d, %.0f steps/s, %s\n", first, rate(total, begin), total)
		}
	}
	t.Logf("seed %d, %.0f steps/s: %s", first, rate(total, begin), total)
	fmt.Println("simulation: what happened:", total.report())
	for _, text := range total.lacking(least) {
		if total.steps >= fewSteps {
			t.Errorf("the search proves little: %s", text)
		}
	}
	fmt.Printf("simulation: seed %d, %.0f steps/s, %s\n", first, rate(total, begin), total)
}

func rate(c *counts, begin time.Time) float64 { return float64(c.steps) / time.Since(begin).Seconds() }

func set(t *testing.T, name, value string) {
	t.Helper()
	if err := flag.Set(name, value); err != nil {
		t.Fatalf("set -%s: %v", name, err)
	}
}

// play is one story.
func play(rt *rapid.T, draw func(dice) topology, c *counts) {
	d := &rapidDice{t: rt}
	w, err := newWorld(draw(d), options{dice: d, protocol: trust.Assess, counts: c, log: rt.Logf, judging: true, truthful: true})
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
	fail(w.rest())
}
