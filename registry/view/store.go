// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	btree "k8s.io/apiserver/pkg/storage/cacher/store"
)

// Store holds the objects of one resource and the recent history of their changes.
type Store struct {
	cfg Config

	// current is the state that reads use; nil before Start.
	current atomic.Pointer[state]

	// mu serializes writers. It guards objects, spareEpoch and lastOvertake, the time of the last attempt to overtake
	// a foreign epoch.
	mu           sync.Mutex
	objects      btree.Indexer
	spareEpoch   uint64
	lastOvertake time.Time

	overtakes singleflight.Group

	// lifetime ends with Stop. running counts the goroutines of watches and overtakes. startMu keeps any from
	// starting after Stop began to wait for them.
	lifetime context.Context
	cancel   context.CancelFunc
	startMu  sync.Mutex
	running  sync.WaitGroup
}

// New returns a store without objects. It serves nothing until Start and MarkSynced.
func New(cfg Config) (*Store, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, fmt.Errorf("configure the view of %s: %w", cfg.Resource, err)
	}
	lifetime, cancel := context.WithCancel(context.Background())
	return &Store{
		cfg:      cfg,
		objects:  btree.NewIndexer(nil),
		lifetime: lifetime,
		cancel:   cancel,
	}, nil
}

// Start takes the first epoch. ctx bounds that call only; the store lives until Stop. Callers may retry after a
// failure, but not call it again after a success.
func (s *Store) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.Load() != nil {
		return errors.New("view store was already started")
	}
	first := uint64(firstRevision)
	if s.cfg.Epochs != nil {
		epoch, err := s.cfg.Epochs.NextEpoch(ctx)
		if err != nil {
			return fmt.Errorf("take the first epoch of %s: %w", s.cfg.Resource, err)
		}
		if err := checkEpoch(epoch, 0); err != nil {
			return fmt.Errorf("take the first epoch of %s: %w", s.cfg.Resource, err)
		}
		first = epochStart(epoch)
	}
	s.publish(&state{
		revision:   first,
		epochFirst: first,
		epochs:     s.cfg.Epochs != nil,
		floor:      first,
		objects:    s.objects.Clone(),
	})
	return nil
}

// MarkSynced declares that the objects applied so far are the complete initial state. From then on the store serves
// reads and keeps history. It does nothing before Start.
func (s *Store) MarkSynced() {
	s.mu.Lock()
	defer s.mu.Unlock()
	current := s.current.Load()
	if current == nil || current.synced {
		return
	}
	next := *current
	next.synced = true
	next.floor = next.revision
	s.publish(&next)
}

// Synced reports whether the store serves reads.
func (s *Store) Synced() bool {
	current := s.current.Load()
	return current != nil && current.synced
}

// Stop ends all watches and waits for their goroutines. The last state stays readable; changes are refused. It may be
// called more than once.
func (s *Store) Stop() {
	s.startMu.Lock()
	s.cancel()
	s.startMu.Unlock()
	s.running.Wait()
}

// publish makes a state visible and wakes the watches. The caller holds mu.
func (s *Store) publish(next *state) {
	previous := s.current.Load()
	next.superseded = make(chan struct{})
	s.current.Store(next)
	if previous != nil {
		close(previous.superseded)
	}
}

// enter adds the caller to the goroutines that Stop waits for. It reports false if the store is stopped.
func (s *Store) enter() bool {
	s.startMu.Lock()
	defer s.startMu.Unlock()
	if s.lifetime.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}

// readable returns the current state, or a 503 until there is a complete one.
func (s *Store) readable() (*state, error) {
	current := s.current.Load()
	if current == nil || !current.synced {
		return nil, newNotReady(s.cfg.Resource)
	}
	return current, nil
}
