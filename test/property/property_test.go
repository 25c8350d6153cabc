// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func draws(t *testing.T, s Search) (out []int) {
	t.Helper()
	s.Check(t, func(t *rapid.T) { out = append(out, rapid.Int().Draw(t, "number")) })
	return out
}

func TestSeedDecides(t *testing.T) {
	fixed := draws(t, Search{})
	if again := draws(t, Search{}); !slices.Equal(again, fixed) {
		t.Errorf("the second run draws %v, want %v", again, fixed)
	}
	if got := draws(t, Search{Seed: 5}); slices.Equal(got, fixed) {
		t.Errorf("the seed 5 draws the same: %v", got)
	}
	if got := draws(t, Search{Checks: 7}); !slices.Equal(got, fixed[:7]) {
		t.Errorf("7 checks draw %v, want %v", got, fixed[:7])
	}
	t.Run("SEED", func(t *testing.T) {
		t.Setenv("SEED", "5")
		if got, want := draws(t, Search{}), draws(t, Search{Seed: 5}); !slices.Equal(got, want) {
			t.Errorf("SEED=5 draws %v, want %v", got, want)
		}
		defer set(t, seedFlag, "6")()
		if got := Seed(t); got != 6 {
			t.Errorf("the seed is %d, want 6 of the flag", got)
		}
	})
	for _, text := range []string{"0", "-1", "fresh"} {
		t.Run("SEED="+text, func(t *testing.T) {
			t.Setenv("SEED", text)
			failed := &failure{TB: t}
			failed.catch(func() { Seed(failed) })
			if want := fmt.Sprintf("SEED=%q is not a positive number", text); failed.message != want {
				t.Errorf("the failure is %q, want %q", failed.message, want)
			}
		})
	}
}

// TestFailureCanBeRepeated shows that the printed seed leads to the failure at the first check, and that no file is
// left.
func TestFailureCanBeRepeated(t *testing.T) {
	t.Chdir(t.TempDir())
	checks := 0
	rare := func(t *rapid.T) {
		checks++
		if rapid.IntRange(0, 19).Draw(t, "number") == 7 {
			t.Fatal("seven")
		}
	}
	failed := &failure{TB: t}
	failed.catch(func() { Check(failed, rare) })
	match := regexp.MustCompile(`failed after (\d+) tests(?s:.*)-rapid\.seed=(\d+)`).FindStringSubmatch(failed.message)
	if match == nil || match[1] == "0" {
		t.Fatalf("the failure does not say how to repeat it, or came with the first check: %q", failed.message)
	}
	defer set(t, seedFlag, match[2])()
	again := &failure{TB: t}
	again.catch(func() { Check(again, rare) })
	if got := regexp.MustCompile(`failed after 0 tests`).FindString(again.message); got == "" {
		t.Errorf("the repetition says %q", again.message)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("files are left: %v, %v", files, err)
	}
}

func TestRandom(t *testing.T) {
	if x, y := Random(t).Uint64(), Random(t).Uint64(); x != y {
		t.Errorf("%d and %d are drawn from one seed", x, y)
	}
	first := Random(t).Uint64()
	t.Setenv("SEED", strconv.Itoa(fixedSeed+1))
	if got := Random(t).Uint64(); got == first {
		t.Errorf("%d is drawn from two seeds", got)
	}
}

// failure is a test that is expected to fail.
type failure struct {
	rapid.TB

	message string
}

// catch runs a function that ends with a failure.
func (f *failure) catch(run func()) {
	defer func() {
		if r := recover(); r != nil && r != any(f) {
			panic(r)
		}
	}()
	run()
}

func (f *failure) Errorf(format string, args ...any) { f.message = fmt.Sprintf(format, args...) }
func (f *failure) Fatalf(format string, args ...any) { f.Errorf(format, args...); panic(f) }
func (f *failure) FailNow()                          { panic(f) }
func (f *failure) Failed() bool                      { return f.message != "" }
func (f *failure) Logf(string, ...any)               {}
