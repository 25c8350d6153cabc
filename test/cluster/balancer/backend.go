// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer

import (
	"context"
	"errors"
	"fmt"
)

// entry is what the balancer knows about a server. Its fields are guarded by Balancer.mu.
type entry struct {
	Backend

	admitted bool  // not taken out
	healthy  bool  // by the newest check
	proven   bool  // healthy at least once in this epoch
	epoch    int   // which process is meant: a check that began in an older one says nothing
	conns    int   // established or being established
	failure  error // of the newest check
}

// State is what is known about a backend.
type State struct {
	// Ready backends get new connections: they are admitted and passed their newest check.
	Ready bool
	// Proven backends passed a check since the last Reset.
	Proven      bool
	Admitted    bool
	Connections int
	// Failure of the newest check, nil if it passed.
	Failure error
}

var errNotChecked = errors.New("not checked yet")

// State returns what is known about a backend; an unknown name is never ready.
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

// TakeOut keeps new connections away from a backend. When it returns, none will be made.
func (b *Balancer) TakeOut(name string) {
	b.update(name, func(backend *entry) { backend.admitted = false })
}

// Reset tells that the server of a backend is another process from now on: it is admitted, and gets connections after its
// next check.
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

// transition changes a backend and wakes those whom the change concerns. The caller holds the lock.
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

// pick waits for a ready backend and counts a connection to it: the one with the fewest, so that a backend that comes back
// gets its share. The epoch is for fail.
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

// release ends what pick began.
func (b *Balancer) release(backend *entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	backend.conns--
}

// fail keeps connections away from a backend that did not answer, until a check says otherwise.
func (b *Balancer) fail(backend *entry, epoch int, failure error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if backend.epoch == epoch {
		b.transition(backend, func(backend *entry) { backend.healthy, backend.failure = false, failure })
	}
}
