// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"sync"
)

// attempts tracks the observations of a queued member.
type attempts struct {
	// content is the subject's expectation that the attempts are for.
	content string
	count   int
	// silent counts the latest attempts in a row without an answer.
	silent int
	// seen means that there is nothing more to observe for this content.
	seen bool
	// waiting means that the member is queued, patient that it may stay there for minutes.
	waiting, patient bool
}

// expect resets the attempts if they were for other content, and reports whether they were.
func (a *attempts) expect(content string) (changed bool) {
	if changed = a.content != content; changed {
		a.content, a.count, a.silent, a.seen = content, 0, 0, false
	}
	return changed
}

// watched tracks the queued members, so that changes of the namespace do not probe them again and again.
type watched struct {
	mu      sync.Mutex
	targets map[target]attempts
}

// begin reports whether to enqueue a member, given its expectation.
func (w *watched) begin(t target, inFlight bool, content string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.targets[t]
	changed := a.expect(content)
	// A queued member is requeued at once if there is something new to observe, or if it waits patiently and a
	// rotation begins.
	called := a.waiting && (changed || (a.patient && inFlight))
	start := (!a.waiting || called) && (inFlight || !a.seen)
	if start {
		a.waiting, a.patient = true, false
	}
	w.targets[t] = a
	return start
}

// next counts an attempt and returns the number of earlier ones for the same content.
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

// answered notes whether a server answered an attempt, and returns how many in a row got no answer.
func (w *watched) answered(t target, reached bool) (silent int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.targets[t]
	if !ok {
		return 0
	}
	if a.silent++; reached {
		a.silent = 0
	}
	w.targets[t] = a
	return a.silent
}

// dequeued marks a member as not queued and keeps its count of attempts.
func (w *watched) dequeued(t target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a, ok := w.targets[t]; ok {
		a.waiting = false
		w.targets[t] = a
	}
}

// done marks a member as not queued until its expectation changes.
func (w *watched) done(t target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a, ok := w.targets[t]; ok {
		a.waiting, a.seen = false, true
		w.targets[t] = a
	}
}

func (w *watched) keep(namespace string, exists map[target]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for t := range w.targets {
		if t.namespace == namespace && !exists[t] {
			delete(w.targets, t)
		}
	}
}
