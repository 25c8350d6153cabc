// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"slices"
	"sort"
	"strings"
	"time"
)

// counters are what the processes count, by who does, and by metric and labels.
type counters struct {
	of map[*target]map[string][]time.Duration
}

// key of a counter: its metric, and names and values of labels in turn.
func key(metric string, pairs ...string) string {
	return strings.Join(append([]string{metric}, pairs...), "\n")
}

// happens notes what the leader counts.
func (y *Year) happens(c *counters, at time.Duration, metric string, pairs ...string) {
	if i := slices.IndexFunc(y.leaders, func(t term) bool { return t.to > at }); i >= 0 {
		// Without a leader it waits for the next.
		c.note(y.leaders[i].by, max(at, y.leaders[i].from+time.Second), key(metric, pairs...))
	}
}

func (c *counters) note(by *target, at time.Duration, key string) {
	if c.of[by] == nil {
		c.of[by] = map[string][]time.Duration{}
	}
	c.of[by][key] = append(c.of[by][key], at)
}

// sort has what is noted in order.
func (c *counters) sort() {
	for _, keys := range c.of {
		for _, times := range keys {
			slices.Sort(times)
		}
	}
}

// counted is the counter of a target: a process counts from its start, and has no counter before the first.
func counted(times []time.Duration) reading {
	before := func(at time.Duration) int { return sort.Search(len(times), func(i int) bool { return times[i] > at }) }
	return func(at time.Duration, l life) (float64, bool) {
		n := before(at) - before(l.from)
		return float64(n), n > 0
	}
}

// addCounters has every target show what it counts.
func (y *Year) addCounters(c *counters) {
	for t, keys := range c.of {
		for k, times := range keys {
			parts := strings.Split(k, "\n")
			y.add(t, parts[0], counted(times), parts[1:]...)
		}
	}
}
