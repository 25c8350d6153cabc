// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
)

// dice decide what happens.
type dice interface {
	// roll returns one of n numbers from 0. Smaller numbers mean that less happens, so that stories shrink to that.
	roll(n int, what string) int
}

type randomDice struct{ r *rand.Rand }

func newRandomDice(seed uint64) *randomDice {
	return &randomDice{r: rand.New(rand.NewPCG(seed, 0x5eed))}
}

func (d *randomDice) roll(n int, _ string) int { return d.r.IntN(n) }

// quietDice always rolls zero: no fault, and nothing in the middle of another event.
type quietDice struct{}

func (quietDice) roll(int, string) int { return 0 }

func one[T any](d dice, what string, list []T) T { return list[d.roll(len(list), what)] }

// in returns true once in n times.
func in(d dice, n int, what string) bool { return d.roll(n, what) == n-1 }
