// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"strings"
	"sync"
	"time"

	"certrotation.dev/registry/injection"
)

// memory is the last observation of each target that asks for a bundle. It only saves reads and repeated events:
// after a restart each such target is read once.
type memory struct {
	mu     sync.Mutex
	states map[target]state
}

type state struct {
	// version is the resource version that the entries come from, "" if they are unknown.
	version string
	entries []injection.Entry
	// held is why the target differs from its bundle since heldAt, "" if it does not. told is the text of the last
	// event.
	held   string
	heldAt time.Time
	told   string
}

func newMemory() *memory { return &memory{states: map[target]state{}} }

func (m *memory) get(t target) state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.states[t]
}

func (m *memory) update(t target, change func(s *state)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.states[t]
	change(&s)
	m.states[t] = s
}

// dropOutdated drops the entries of a target that may have others now: one that may have no bundle is not read.
func (m *memory) dropOutdated(t target, version string) {
	m.update(t, func(s *state) {
		if s.version != version {
			s.version, s.entries = "", nil
		}
	})
}

// forget drops a target that is gone or asks for nothing.
func (m *memory) forget(t target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, t)
}

// configurationKind is the kind of objects that name a target of a kind that is not served.
const configurationKind = "RotationConfiguration"

// configurationTarget is the key for the state of a configuration, in the form of a target.
func configurationTarget(namespace, name string) target {
	return target{Kind: configurationKind, Name: namespace + "/" + name}
}

// configurations lists the configurations of a namespace that have a state.
func (m *memory) configurations(namespace string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for t := range m.states {
		if name, ok := strings.CutPrefix(t.Name, namespace+"/"); ok && t.Kind == configurationKind {
			out = append(out, name)
		}
	}
	return out
}

// held counts, by kind, the targets that differ from their bundle, and the configurations that name a kind that is
// not served.
func (m *memory) held() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := map[string]int{configurationKind: 0}
	for kind := range injection.Resources {
		counts[string(kind)] = 0
	}
	for t, s := range m.states {
		if s.held != "" {
			counts[t.Kind]++
		}
	}
	return counts
}
