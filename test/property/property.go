// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"time"

	"pgregory.net/rapid"
)

// fixedSeed is the default seed.
const fixedSeed = 20261121

// seedFlag is the name of rapid's flag. Its default, 0, lets rapid choose a random seed.
const seedFlag = "rapid.seed"

// Seed returns the seed of -rapid.seed, else of SEED, else the fixed one.
func Seed(t rapid.TB) uint64 {
	t.Helper()
	if given := flag.Lookup(seedFlag).Value.(flag.Getter).Get().(uint64); given != 0 {
		return given
	}
	text := os.Getenv("SEED")
	if text == "" {
		return fixedSeed
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seed == 0 {
		t.Fatalf("SEED=%q is not a positive number", text)
	}
	return seed
}

// Random returns the random numbers of a test that does not use rapid.
func Random(t rapid.TB) *rand.Rand {
	t.Helper()
	seed := Seed(t)
	t.Logf("to repeat it: SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Check runs a property as rapid.Check does.
func Check(t rapid.TB, prop func(*rapid.T)) {
	t.Helper()
	Search{}.Check(t, prop)
}

// Search is a Check with its own settings. The zero value of a field is the default.
type Search struct {
	Seed          uint64
	Checks, Steps int
	ShrinkTime    time.Duration
}

// settings guards rapid's settings, which are flags of the whole test binary.
var settings sync.Mutex

// Check runs a property as rapid.Check does. Properties of parallel tests run one after the other.
func (s Search) Check(t rapid.TB, prop func(*rapid.T)) {
	t.Helper()
	settings.Lock()
	defer settings.Unlock()
	if s.Seed == 0 {
		s.Seed = Seed(t)
	}
	defer set(t, seedFlag, strconv.FormatUint(s.Seed, 10))()
	defer set(t, "rapid.nofailfile", "true")()
	if s.Checks > 0 {
		defer set(t, "rapid.checks", strconv.Itoa(s.Checks))()
	}
	if s.Steps > 0 {
		defer set(t, "rapid.steps", strconv.Itoa(s.Steps))()
	}
	if s.ShrinkTime > 0 {
		defer set(t, "rapid.shrinktime", s.ShrinkTime.String())()
	}
	rapid.Check(t, prop)
}

func set(t rapid.TB, name, value string) (restore func()) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatalf("set -%s=%s: %v", name, value, err)
	}
	return func() { _ = flag.Set(name, before) }
}
