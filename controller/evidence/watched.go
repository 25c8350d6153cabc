// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"sync"
)

// attempts are those at a member that is not proven to follow in the stage Stable.
type attempts struct {
	// content names what the member is expected to have loaded, and what is known of why it would now.
	content string
	count   int
	// silent are the last of them in which nobody answered.
	silent int
	// seen says that nothing more is to be seen of this content.
	seen bool
	// waiting says that the member is in the queue, and patient that it may stay there for minutes.
	waiting, patient bool
}

// expect has the attempts begin anew if they were for other content, and says whether they were.
func (a *attempts) expect(content string) (changed bool) {
	if changed = a.content != content; changed {
		a.content, a.count, a.silent, a.seen = content, 0, 0, false
	}
	return changed
}

// watched remembers which members are in the queue, so that a change of the namespace does not probe them again and
// again.
type watched struct {
	mu      sync.Mutex
	targets map[target]attempts
}

// begin says whether a member is to be put into the queue because of what it is expected to have loaded.
func (w *watched) begin(t target, inFlight bool, content string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.targets[t]
	changed := a.expect(content)
	// One that waits is called at once when there is something new to see, and one that waits patiently when a rotation begins.
	called := a.waiting && (changed || (a.patient && inFlight))
	start := (!a.waiting || called) && (inFlight || !a.seen)
	if start {
		a.waiting, a.patient = true, false
	}
	w.targets[t] = a
	return start
}

// next counts an attempt and returns how many there were before, for the same content.
func (w *watched) next(t target, inFlight bool, content string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.targets[t]
	a.expect(content)
	before := a.count
	a.count++
	a.patient = !inFlight
	w.targets[t] = a
	return before
}

// answered notes whether somebody answered an attempt, and returns in how many nobody has since.
func (w *watched) answered(t target, somebody bool) (silent int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.targets[t]
	if !ok {
		return 0
	}
	if a.silent++; somebody {
		a.silent = 0
	}
	w.targets[t] = a
	return a.silent
}

// dequeued takes a member out of the queue and keeps the count of its attempts.
func (w *watched) dequeued(t target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a, ok := w.targets[t]; ok {
		a.waiting = false
		w.targets[t] = a
	}
}

// done takes a member out of the queue until something else is expected of it.
func (w *watched) done(t target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a, ok := w.targets[t]; ok {
		a.waiting, a.seen = false, true
		w.targets[t] = a
	}
}

// keep forgets the members of a namespace that do not exist any more.
func (w *watched) keep(namespace string, exists map[target]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.targets {
		if t.namespace == namespace && !exists[t] {
			delete(w.targets, t)
		}
	}
}
