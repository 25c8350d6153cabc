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

// memory is what was last found of each workload that is due. It only saves repetitions.
type memory struct {
	mu         sync.Mutex
	states     map[id]state
	namespaces map[string]bool
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

func newMemory() *memory { return &memory{states: map[id]state{}, namespaces: map[string]bool{}} }

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
	delete(m.namespaces, namespace)
	if len(tasks) > 0 {
		m.namespaces[namespace] = true
	}
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
	counts := make(map[string]int, len(m.namespaces))
	for namespace := range m.namespaces {
		counts[namespace] = 0
	}
	for k, s := range m.states {
		if s.held {
			counts[k.namespace]++
		}
	}
	return counts
}
