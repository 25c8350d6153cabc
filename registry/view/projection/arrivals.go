// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// arrivals remembers when the oldest change of each namespace that is not projected yet was announced.
type arrivals struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since map[string]time.Time
}

func newArrivals(clk clock.PassiveClock) *arrivals {
	return &arrivals{clock: clk, since: map[string]time.Time{}}
}

func (a *arrivals) note(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.since[namespace]; !ok {
		a.since[namespace] = a.clock.Now()
	}
}

// take is called before the namespace is read, so that a change during the reading counts for the next time.
func (a *arrivals) take(namespace string) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.since[namespace]
	delete(a.since, namespace)
	return at, ok
}

// putBack undoes take.
func (a *arrivals) putBack(namespace string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.since[namespace] = at
}
