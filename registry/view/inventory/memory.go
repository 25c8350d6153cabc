// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"sync"
	"sync/atomic"
	"time"
)

// memory keeps what was built for each namespace until something changes. Readers take no lock while it is fresh.
//
// A generation is counted up after the informers' stores have changed, and is read before the stores are. What is
// built from an older store therefore never bears the newer generation. The zero value is ready for use.
type memory struct {
	// nodes is the generation of all nodes: they concern every namespace.
	nodes      atomic.Uint64
	namespaces sync.Map // of *remembered by namespace
	// clockSkew is that of Options. What was built by another skew is not fresh.
	clockSkew func() time.Duration
}

type remembered struct {
	generation atomic.Uint64
	latest     atomic.Pointer[built]
	// building lets one goroutine build while the others wait for what it makes.
	building sync.Mutex
}

type built struct {
	generation, nodes uint64
	sources           *Sources
	namespace         *Namespace
}

// get returns the sources and what was built of them, nil for both if look finds none.
func (m *memory) get(namespace string, look func(namespace string) *Sources) (*Sources, *Namespace) {
	entry := m.entry(namespace)
	if entry == nil {
		// Most namespaces of a cluster have no configuration; nothing is remembered of them.
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

// forget is called after something in the namespace has changed. Where there is no entry, whoever makes one reads the
// changed store.
func (m *memory) forget(namespace string) {
	if entry := m.entry(namespace); entry != nil {
		entry.generation.Add(1)
	}
}

// drop is called after a namespace has ceased to be managed: nothing that was built of it is kept.
func (m *memory) drop(namespace string) {
	m.forget(namespace)
	m.namespaces.Delete(namespace)
}

// forgetNodes is called after a node has changed.
func (m *memory) forgetNodes() { m.nodes.Add(1) }
