// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"

	"certrotation.dev/registry/trust"
)

type id struct {
	namespace string
	workload  trust.Workload
}

// memory holds the latest verdict on each due workload. It only saves reads and repeated reports.
type memory struct {
	mu     sync.Mutex
	states map[id]state
	// pauses holds, by namespace, when the next pass may run while workloads are due.
	pauses map[string]time.Time
}

type state struct {
	// reason is the reason of the latest verdict, the same since the time since. held means that it waits for an
	// operator.
	reason trust.Reason
	since  time.Time
	held   bool
	// told is the text of the latest report, "" for none.
	told string
}

func newMemory() *memory { return &memory{states: map[id]state{}, pauses: map[string]time.Time{}} }

func (m *memory) pause(namespace string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pauses[namespace]
}

func (m *memory) pauseUntil(namespace string, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pauses[namespace] = until
}

// keep drops the workloads of a namespace that are no longer due, and its pause.
func (m *memory) keep(namespace string, tasks []*task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	due := map[trust.Workload]bool{}
	for _, t := range tasks {
		due[t.order.Workload] = true
	}
	for k := range m.states {
		if k.namespace == namespace && !due[k.workload] {
			delete(m.states, k)
		}
	}
	delete(m.pauses, namespace)
}

func (m *memory) update(namespace string, of trust.Workload, change func(*state)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := id{namespace: namespace, workload: of}
	s := m.states[k]
	change(&s)
	m.states[k] = s
}

// held counts the workloads that wait for an operator, by namespace. A namespace with due workloads is always in it.
func (m *memory) held() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := map[string]int{}
	for k, s := range m.states {
		waits := 0
		if s.held {
			waits = 1
		}
		counts[k.namespace] += waits
	}
	return counts
}
