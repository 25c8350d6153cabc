// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"math/rand/v2"
)

// dice decides what happens.
type dice interface {
	// roll returns one of n numbers from 0. The smaller, the less happens: that is where stories shrink to.
	roll(n int, what string) int
}

// randomDice rolls by a seed.
type randomDice struct{ r *rand.Rand }

func newRandomDice(seed uint64) *randomDice {
	return &randomDice{r: rand.New(rand.NewPCG(seed, 0x5eed))}
}

func (d *randomDice) roll(n int, _ string) int { return d.r.IntN(n) }

// quietDice rolls nothing but zeros: no fault, nothing in between.
type quietDice struct{}

func (quietDice) roll(int, string) int { return 0 }

// one picks an element.
func one[T any](d dice, what string, list []T) T { return list[d.roll(len(list), what)] }

// in says yes once in n times.
func in(d dice, n int, what string) bool { return d.roll(n, what) == n-1 }
