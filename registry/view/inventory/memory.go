// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"sync"
	"sync/atomic"
	"time"
)

// memory keeps the result of Build for each namespace until something changes. Readers take no lock while it is
// fresh.
//
// A generation is incremented after the informers' stores have changed, and read before the stores are. A result of
// an older store therefore never has the newer generation. The zero value is ready for use.
type memory struct {
	// nodes is the generation of all nodes, which concern every namespace.
	nodes      atomic.Uint64
	namespaces sync.Map // of *remembered by namespace
	// clockSkew is Options.ClockSkew. A result of another skew is stale.
	clockSkew func() time.Duration
}

type remembered struct {
	generation atomic.Uint64
	latest     atomic.Pointer[built]
	// building lets one goroutine build while the others wait for its result.
	building sync.Mutex
}

type built struct {
	generation, nodes uint64
	sources           *Sources
	namespace         *Namespace
}

// get returns the sources and the result of Build, nil for both if look finds none.
func (m *memory) get(namespace string, look func(namespace string) *Sources) (*Sources, *Namespace) {
	entry := m.entry(namespace)
	if entry == nil {
		// Most namespaces of a cluster have no configuration, and get no entry.
		if look(namespace) == nil {
			return nil, nil
		}
		created, _ := m.namespaces.LoadOrStore(namespace, &remembered{})
		entry = created.(*remembered)
	}
	if fresh := m.fresh(entry); fresh != nil {
		return fresh.sources, fresh.namespace
	}
	entry.building.Lock()
	defer entry.building.Unlock()
	if fresh := m.fresh(entry); fresh != nil {
		return fresh.sources, fresh.namespace
	}
	b := &built{generation: entry.generation.Load(), nodes: m.nodes.Load()}
	if b.sources = look(namespace); b.sources != nil {
		b.namespace = Build(b.sources)
	}
	entry.latest.Store(b)
	return b.sources, b.namespace
}

func (m *memory) entry(namespace string) *remembered {
	entry, ok := m.namespaces.Load(namespace)
	if !ok {
		return nil
	}
	return entry.(*remembered)
}

func (m *memory) fresh(entry *remembered) *built {
	b := entry.latest.Load()
	if b == nil || b.generation != entry.generation.Load() || b.nodes != m.nodes.Load() {
		return nil
	}
	if m.clockSkew != nil && b.sources != nil && *b.sources.ClockSkew != m.clockSkew() {
		return nil
	}
	return b
}

// forget is called after a change in the namespace. If there is no entry, the goroutine that creates one reads the
// changed store.
func (m *memory) forget(namespace string) {
	if entry := m.entry(namespace); entry != nil {
		entry.generation.Add(1)
	}
}

// drop is called after a namespace is no longer managed, and drops its result.
func (m *memory) drop(namespace string) {
	m.forget(namespace)
	m.namespaces.Delete(namespace)
}

// forgetNodes is called after a node has changed.
func (m *memory) forgetNodes() { m.nodes.Add(1) }
