// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"context"
	"errors"
	"fmt"
)

// entry is the state of a backend, guarded by Balancer.mu.
type entry struct {
	Backend

	admitted bool  // Not taken out.
	healthy  bool  // By the newest check.
	proven   bool  // Healthy at least once in this epoch.
	epoch    int   // The number of its process. A check that began in an older epoch does not count.
	conns    int   // Established or being established.
	failure  error // Of the newest check.
}

// State is the state of a backend.
type State struct {
	// Ready backends get new connections: they are admitted and passed their newest check.
	Ready bool
	// Proven backends passed a check since the last Reset.
	Proven      bool
	Admitted    bool
	Connections int
	// Failure is the error of the newest check, nil if it passed.
	Failure error
}

var errNotChecked = errors.New("not checked yet")

// State returns the state of a backend. An unknown name is never ready.
func (b *Balancer) State(name string) State {
	b.mu.Lock()
	defer b.mu.Unlock()
	backend := b.find(name)
	if backend == nil {
		return State{Failure: fmt.Errorf("no backend is named %q", name)}
	}
	return State{
		Ready: backend.ready(), Proven: backend.proven, Admitted: backend.admitted, Connections: backend.conns, Failure: backend.failure,
	}
}

// TakeOut keeps new connections away from a backend, from its return on.
func (b *Balancer) TakeOut(name string) {
	b.update(name, func(backend *entry) { backend.admitted = false })
}

// Reset marks the server of a backend as a new process. It is admitted, and gets connections after its next check.
func (b *Balancer) Reset(name string) {
	b.update(name, func(backend *entry) {
		backend.epoch++
		backend.admitted, backend.healthy, backend.proven, backend.failure = true, false, false, errNotChecked
	})
}

// Readiness has a token after each change of a backend's readiness.
func (b *Balancer) Readiness() <-chan struct{} { return b.readiness }

func (b *Balancer) update(name string, change func(*entry)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if backend := b.find(name); backend != nil {
		b.transition(backend, change)
	}
}

// transition changes a backend. If its readiness changes, it wakes waiting connections and the reader of Readiness.
// The caller holds the lock.
func (b *Balancer) transition(backend *entry, change func(*entry)) {
	before := *backend
	change(backend)
	if before.ready() == backend.ready() && before.proven == backend.proven {
		return
	}
	close(b.changed)
	b.changed = make(chan struct{})
	select {
	case b.readiness <- struct{}{}:
	default:
	}
}

func (b *Balancer) find(name string) *entry {
	for _, backend := range b.backends {
		if backend.Name == name {
			return backend
		}
	}
	return nil
}

func (e *entry) ready() bool { return e.admitted && e.healthy }

// pick waits for a ready backend and counts a connection to it. It picks the backend with the fewest, so that one
// that comes back gets its share. The epoch is for fail.
func (b *Balancer) pick(ctx context.Context) (picked *entry, epoch int, err error) {
	for {
		b.mu.Lock()
		for _, backend := range b.backends {
			if backend.ready() && (picked == nil || backend.conns < picked.conns) {
				picked = backend
			}
		}
		if picked != nil {
			picked.conns++
			epoch = picked.epoch
		}
		changed := b.changed
		b.mu.Unlock()
		if picked != nil {
			return picked, epoch, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, fmt.Errorf("wait for a ready backend: %w", ctx.Err())
		}
	}
}

// release undoes the count of pick.
func (b *Balancer) release(backend *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	backend.conns--
}

// fail keeps connections away from a backend that did not answer, until a check passes.
func (b *Balancer) fail(backend *entry, epoch int, failure error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if backend.epoch == epoch {
		b.transition(backend, func(backend *entry) { backend.healthy, backend.failure = false, failure })
	}
}
