// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"strings"
	"sync"
	"time"

	"certrotation.dev/registry/injection"
)

// memory is what was last found of each target that asks for a bundle. It only saves reads and repetitions: after a restart
// every such target is read once.
type memory struct {
	mu     sync.Mutex
	states map[target]state
}

// state of one target.
type state struct {
	// version is the resource version of which the entries are, "" if they are not known.
	version string
	entries []injection.Entry
	// held says why the target is not as its bundle is since heldAt, "" if it is; told is the text of the last event.
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

// forget is for a target that is gone or asks for nothing.
func (m *memory) forget(t target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, t)
}

// configurationKind is that of the objects that name a kind of target which is not served.
const configurationKind = "RotationConfiguration"

// configurationTarget is what the state of a configuration is kept under, as if it were a target.
func configurationTarget(namespace, name string) target {
	return target{Kind: configurationKind, Name: namespace + "/" + name}
}

// configurations are those of a namespace that have a state.
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

// held counts the targets of each kind that are not as they should be, and the configurations that name a kind in vain.
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
