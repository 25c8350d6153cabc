// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"slices"
	"sync"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// memory is what was last found of each copy. It only saves reads and repetitions: after a restart every copy is read
// once.
type memory struct {
	mu         sync.Mutex
	states     map[key]state
	namespaces map[string]bool
}

// state of one copy.
type state struct {
	// source is the name of what it is a copy of.
	source string
	// wanted names what the copy was made of, and version is its resource version with that; "" if it is not known to be
	// as it should.
	wanted, version string
	// anchors of the copy of a bundle.
	anchors []*pki.Certificate
	// held says why the copy is not as the configuration wants it since heldAt, "" if it is; told is the text of the last
	// event.
	held   string
	heldAt time.Time
	told   string
}

func newMemory() *memory {
	return &memory{states: map[key]state{}, namespaces: map[string]bool{}}
}

// replaceNamespace takes over which copies are wanted of a namespace, and returns them with those that were known before: of
// these it has to be seen whether they are to be taken back.
func (m *memory) replaceNamespace(from string, n *inventory.Namespace) []key {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.namespaces, from)
	var copies []configv1alpha1.Copy
	if n != nil {
		m.namespaces[from] = true
		copies = n.Copies
	}
	keys := make([]key, 0, len(copies))
	for i := range copies {
		keys = append(keys, keyOf(from, &copies[i]))
	}
	for i, k := range keys {
		s := m.states[k]
		s.source = copies[i].Name
		m.states[k] = s
	}
	for k := range m.states {
		if k.from == from && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// know remembers a copy that is there, whether it is wanted or not.
func (m *memory) know(k key, source string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.states[k]; !ok {
		m.states[k] = state{source: source}
	}
}

// forget is for a copy that is neither wanted nor there.
func (m *memory) forget(k key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, k)
}

// within returns the copies in a namespace.
func (m *memory) within(namespace string) []key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []key
	for k := range m.states {
		if k.namespace == namespace {
			keys = append(keys, k)
		}
	}
	return keys
}

// of returns the keys of those who want a copy to be there.
func (m *memory) of(t target) []key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []key
	for k := range m.states {
		if k.target == t {
			keys = append(keys, k)
		}
	}
	return keys
}

func (m *memory) get(k key) state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.states[k]
}

// update changes the state of a copy that is known.
func (m *memory) update(k key, change func(s *state)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.states[k]
	if !ok {
		return
	}
	change(&s)
	m.states[k] = s
}

// held counts the copies of each namespace that are not as they should be.
func (m *memory) held() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make(map[string]int, len(m.namespaces))
	for namespace := range m.namespaces {
		counts[namespace] = 0
	}
	for k, s := range m.states {
		if s.held != "" {
			counts[k.from]++
		}
	}
	return counts
}
