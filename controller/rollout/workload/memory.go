// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"

	"certrotation.dev/registry/trust"
)

// id of a workload.
type id struct {
	namespace string
	workload  trust.Workload
}

// memory is what was last found of each workload that is due. It only saves reads and repetitions.
type memory struct {
	mu     sync.Mutex
	states map[id]state
	// pauses are until when a namespace in which something is due is not looked at again.
	pauses map[string]time.Time
}

// state of one workload.
type state struct {
	// reason of the latest verdict, since when it is the same, and whether it waits for a person.
	reason trust.Reason
	since  time.Time
	held   bool
	// told is the latest text that was told, "" for none.
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

// keep forgets what is not due any more.
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

// held counts the workloads that wait for a person, in the namespaces in which any is due.
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
