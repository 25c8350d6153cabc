// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"strings"
	"testing"

	"certrotation.dev/registry/trust"
	"certrotation.dev/test/property"
)

// unguardedInCI is the number of stories of TestWithoutGuard.
const unguardedInCI = 150

// TestWithoutGuard lets people do anything. No handshake is promised then, but problems are told. When people have
// deleted unreadable objects and every process has loaded, every domain comes to rest and all handshakes succeed.
func TestWithoutGuard(t *testing.T) {
	t.Parallel()
	withoutGuard(t, property.Seed(t), unguardedInCI)
}

// TestExtendedWithoutGuard goes on where TestWithoutGuard ends.
func TestExtendedWithoutGuard(t *testing.T) { withoutGuard(t, property.Seed(t)+unguardedInCI, 600) }

func withoutGuard(t *testing.T, first, stories uint64) {
	t.Helper()
	c := newCounts()
	for seed := first; seed < first+stories; seed++ {
		if err := unguarded(newRandomDice(seed), c, nil); err != nil {
			var lines []string
			_ = unguarded(newRandomDice(seed), newCounts(), func(format string, args ...any) {
				lines = append(lines, fmt.Sprintf(format, args...))
			})
			t.Fatalf("SEED=%d repeats it in TestWithoutGuard: %v\n%s", seed, err, strings.Join(lines, "\n"))
		}
	}
	t.Log(c)
}

func unguarded(d dice, c *counts, log func(string, ...any)) error {
	w, err := newWorld(drawWorld(d), options{dice: d, protocol: trust.Assess, counts: c, log: log})
	if err != nil {
		return err
	}
	defer w.close()
	w.unguarded = true
	all, _ := w.topology.events()
	list := weighted(all)
	for range 40 {
		if _, err := w.step(&list[d.roll(len(list), "event")]); err != nil {
			return err
		}
	}
	return w.rest()
}
