// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"slices"
	"sort"
	"time"
)

// term is a time in which one process leads.
type term struct {
	interval

	by *target
}

// controllers are the replicas of the controller.
func (y *Year) controllers() []*target {
	return slices.DeleteFunc(slices.Clone(y.targets), func(t *target) bool { return t.job != "controller" })
}

// terms are who leads and when: until the process ends. It is followed by one that is there, once it knows that the lease is free,
// or by the first of them.
func terms(controllers []*target) []term {
	var out []term
	for at := -100 * day; at < Length; {
		next := term{interval: interval{from: Length}}
		for _, t := range controllers {
			for _, l := range t.lives {
				if from := max(at, l.from+retryPeriod); from < l.to && from < next.from {
					next = term{interval{from, l.to}, t}
				}
			}
		}
		if next.by == nil {
			return out
		}
		out = append(out, next)
		at = next.to + leaseDuration
		if last, _ := next.by.alive(next.to - 1); last.released {
			at = next.to + retryPeriod
		}
	}
	return out
}

// term is that of a moment.
func (y *Year) term(at time.Duration) (term, bool) {
	i := sort.Search(len(y.leaders), func(i int) bool { return y.leaders[i].from > at }) - 1
	if i < 0 || !y.leaders[i].contains(at) {
		return term{}, false
	}
	return y.leaders[i], true
}

// leads reports whether a target leads at a moment.
func (y *Year) leads(t *target, at time.Duration) bool {
	now, led := y.term(at)
	return led && now.by == t
}
