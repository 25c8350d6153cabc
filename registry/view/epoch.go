// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"fmt"
	"time"
)

const (
	// overtakeInterval is the minimum time between two epochs that are obtained on behalf of requests.
	overtakeInterval = 5 * time.Second
	// epochTimeout bounds a call of the epoch source that several requests may wait for.
	epochTimeout = 10 * time.Second
)

// EpochSource gives out epochs. Each is unique among all replicas that serve a resource, is
// in 1..2^39-1, and is higher than every epoch given out, to anyone, before the call began.
type EpochSource interface {
	NextEpoch(ctx context.Context) (uint64, error)
}

// reserve makes sure that the current epoch has room for n more revisions. The caller holds mu.
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

// adoptSpare moves the store to the spare epoch. The content stays the same. The caller holds mu.
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

// overtake moves the store to an epoch that is not below a foreign one which a client has seen, so that revisions never
// go down for a client that moves between replicas. It calls the source once for all requests of an interval. A foreign
// epoch above the one that the source returns was invented by the client and has no effect. The error is one to answer
// a client with.
func (s *Store) overtake(ctx context.Context, foreign uint64) error {
	if s.catchUp(foreign) {
		return nil
	}
	taken := s.overtakes.DoChan("", func() (any, error) { return nil, s.takeSpare() }) //nolint:contextcheck // the call is shared by several requests, none of which may cancel it for the others
	select {
	case <-ctx.Done():
		return newEpochUnavailable(s.cfg.Resource, ctx.Err())
	case result := <-taken:
		// Whether or not this call succeeded, another one may have obtained an epoch meanwhile.
		if s.catchUp(foreign) {
			return nil
		}
		return result.Err
	}
}

// catchUp adopts the spare epoch if that covers the foreign one, and reports whether the
// store has reached it.
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

// takeSpare obtains an epoch from the source and keeps it as the spare one. A spare epoch that has not been needed yet
// is used before another one is obtained.
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

// claimOvertake claims the one attempt of this interval, or returns how long it is until the next one.
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
