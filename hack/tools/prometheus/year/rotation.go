// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package year

import (
	"sort"
	"time"
)

// stages of a rotation in their order; the first is that of a domain at rest.
var stages = []string{"Stable", "Distributing", "Reissuing", "Draining", "Retiring"}

// step is a time in which a rotation does, or waits for, the same.
type step struct {
	stage    string
	lasts    time.Duration
	blockers int
}

// rotation of a signer.
type rotation struct {
	begin time.Duration
	steps []step
}

func (r *rotation) end() time.Duration { return r.endOf("") }

// endOf is when a stage ends, of the last one if it is "".
func (r *rotation) endOf(stage string) time.Duration {
	at, found := r.begin, r.begin
	for _, s := range r.steps {
		at += s.lasts
		if s.stage == stage || stage == "" {
			found = at
		}
	}
	return found
}

// state of a domain at a moment. Since is zero at rest.
type state struct {
	stage        string
	since        time.Duration
	blockers     int
	blockedSince time.Duration
}

// stateAt is how a domain is at a moment.
func (d *domain) stateAt(at time.Duration) state {
	i := sort.Search(len(d.rotations), func(i int) bool { return d.rotations[i].begin > at }) - 1
	if i < 0 || at >= d.rotations[i].end() {
		return state{stage: stages[0]}
	}
	r := &d.rotations[i]
	begin, now := r.begin, state{}
	for _, s := range r.steps {
		if s.stage != now.stage {
			now.stage, now.since = s.stage, begin
		}
		if at < begin+s.lasts {
			now.blockers, now.blockedSince = s.blockers, begin
			break
		}
		begin += s.lasts
	}
	return now
}
