// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"time"
)

const (
	// overtakeInterval is the minimum time between two epochs that the store takes on behalf of requests.
	overtakeInterval = 5 * time.Second
	// epochTimeout bounds a call of the epoch source, because several requests may wait for it.
	epochTimeout = 10 * time.Second
)

// EpochSource provides epochs. Each is in 1..2^39-1, unique among all replicas that serve a resource, and higher than
// every epoch that any replica obtained before the call began.
type EpochSource interface {
	NextEpoch(ctx context.Context) (uint64, error)
}

// reserve ensures that the current epoch has room for n more revisions. The caller holds mu.
func (s *Store) reserve(n uint64) error {
	current := s.current.Load()
	if !current.epochs || current.revision&maxSequence+n <= maxSequence {
		return nil
	}
	if n > maxSequence {
		return fmt.Errorf("batch of %d changes exceeds an epoch of %d", n, uint64(maxSequence))
	}
	if s.spareEpoch <= epochOf(current.revision) {
		ctx, cancel := context.WithTimeout(s.lifetime, epochTimeout)
		defer cancel()
		epoch, err := s.cfg.Epochs.NextEpoch(ctx)
		if err != nil {
			return fmt.Errorf("take an epoch of %s when the sequence is used up: %w", s.cfg.Resource, err)
		}
		s.spareEpoch = epoch
	}
	return s.adoptSpare()
}

// adoptSpare moves the store to the spare epoch and keeps its content. The caller holds mu.
func (s *Store) adoptSpare() error {
	next := *s.current.Load()
	if err := checkEpoch(s.spareEpoch, epochOf(next.revision)); err != nil {
		return fmt.Errorf("adopt an epoch of %s: %w", s.cfg.Resource, err)
	}
	past := make([]span, 0, len(next.past)+1)
	past = append(past, next.past...)
	next.past = append(past, span{first: next.epochFirst, last: next.revision})
	next.epochFirst = epochStart(s.spareEpoch)
	next.revision = next.epochFirst
	if !next.synced {
		next.floor = next.revision
	}
	s.publish(&next)
	return nil
}

// overtake moves the store to an epoch not below a foreign one that a client has seen. Revisions then never go down
// for a client that moves between replicas. It calls the source once for all requests of an interval. A foreign epoch
// above the one that the source returns was invented by the client and has no effect. The error is an API error for
// the client.
func (s *Store) overtake(ctx context.Context, foreign uint64) error {
	if s.catchUp(foreign) {
		return nil
	}
	// Several requests share the call, so none of them may cancel it for the others.
	taken := s.overtakes.DoChan("", func() (any, error) { return nil, s.takeSpare() }) //nolint:contextcheck // see above
	select {
	case <-ctx.Done():
		return newEpochUnavailable(s.cfg.Resource, ctx.Err())
	case result := <-taken:
		// Another call may have obtained an epoch meanwhile, even if this one failed.
		if s.catchUp(foreign) {
			return nil
		}
		return result.Err
	}
}

// catchUp adopts the spare epoch if that covers the foreign one. It reports whether the store has reached the foreign
// epoch.
func (s *Store) catchUp(foreign uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if epochOf(s.current.Load().revision) >= foreign {
		return true
	}
	if s.spareEpoch < foreign {
		return false
	}
	return s.adoptSpare() == nil
}

// takeSpare obtains an epoch from the source and keeps it as the spare one. reserve and catchUp use the spare epoch
// before the store obtains another.
func (s *Store) takeSpare() error {
	if !s.enter() {
		return newEpochUnavailable(s.cfg.Resource, context.Canceled)
	}
	defer s.running.Done()
	if wait := s.claimOvertake(); wait > 0 {
		return newEpochBusy(s.cfg.Resource, wait)
	}
	ctx, cancel := context.WithTimeout(s.lifetime, epochTimeout)
	defer cancel()
	epoch, err := s.cfg.Epochs.NextEpoch(ctx)
	if err != nil {
		return newEpochUnavailable(s.cfg.Resource, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := checkEpoch(epoch, max(s.spareEpoch, epochOf(s.current.Load().revision))); err != nil {
		return newEpochUnavailable(s.cfg.Resource, err)
	}
	s.spareEpoch = epoch
	return nil
}

// claimOvertake claims the one attempt of this interval, or returns the time until the next one.
func (s *Store) claimOvertake() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Clock.Now()
	if since := now.Sub(s.lastOvertake); !s.lastOvertake.IsZero() && since < overtakeInterval {
		return overtakeInterval - since
	}
	s.lastOvertake = now
	return 0
}
