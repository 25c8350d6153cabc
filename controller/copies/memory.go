// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"sync"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

// memory is the last observation of each copy. It only saves reads and repeated events: after a restart each copy is
// read once.
type memory struct {
	mu         sync.Mutex
	states     map[key]state
	namespaces map[string]bool
}

type state struct {
	// source is the name of the source.
	source string
	// wanted identifies what the copy was made of, and version is its resource version after that. Both are "" if the
	// copy may be outdated.
	wanted, version string
	// anchors of the copy of a bundle.
	anchors []*pki.Certificate
	// cluster of the copy, nil if it is in this one.
	cluster *inventory.Cluster
	// check is when a copy in another cluster is read again, and kubeconfig the version that it was read with.
	check      time.Time
	kubeconfig string
	// held is why the copy differs from the configuration since heldAt, "" if it does not. told is the text of the
	// last event.
	held   string
	heldAt time.Time
	told   string
}

func newMemory() *memory {
	return &memory{states: map[key]state{}, namespaces: map[string]bool{}}
}

// replaceNamespace replaces the wanted copies of a namespace. It returns them with those known before, which may have
// to be taken back.
func (m *memory) replaceNamespace(from string, n *inventory.Namespace) []key {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.namespaces, from)
	var copies []configv1alpha1.Copy
	if n != nil {
		m.namespaces[from] = true
		copies = n.Copies
	}
	keys, wanted := make([]key, 0, len(copies)), make(map[key]bool, len(copies))
	for i := range copies {
		k := keyOf(from, &copies[i])
		keys, wanted[k] = append(keys, k), true
		s := m.states[k]
		s.source = copies[i].Name
		if k.cluster != "" {
			s.cluster = n.Clusters[k.cluster]
		}
		m.states[k] = s
	}
	for k := range m.states {
		if k.from == from && !wanted[k] {
			keys = append(keys, k)
		}
	}
	return keys
}

// know remembers an existing copy, whether or not it is wanted.
func (m *memory) know(k key, source string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.states[k]; !ok {
		m.states[k] = state{source: source}
	}
}

// forget drops a copy that is neither wanted nor there.
func (m *memory) forget(k key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, k)
}

func (m *memory) within(namespace string) []key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []key
	for k := range m.states {
		if k.cluster == "" && k.namespace == namespace {
			keys = append(keys, k)
		}
	}
	return keys
}

// of returns the keys of all source namespaces that have a copy at a target.
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

// inCluster returns the keys of a source namespace that have a copy of a kind in a cluster.
func (m *memory) inCluster(from, cluster string, kind configv1alpha1.CopyKind) []key {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []key
	for k := range m.states {
		if k.from == from && k.cluster == cluster && k.kind == kind {
			keys = append(keys, k)
		}
	}
	return keys
}

// clusters are the other clusters with known copies of a source namespace.
func (m *memory) clusters(from string) map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]bool{}
	for k := range m.states {
		if k.from == from && k.cluster != "" {
			out[k.cluster] = true
		}
	}
	return out
}

func (m *memory) get(k key) state {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.states[k]
}

// update changes the state of a known copy. It ignores an unknown one.
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

// held counts, by source namespace, the copies that differ from their configuration.
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
