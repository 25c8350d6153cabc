// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	btree "k8s.io/apiserver/pkg/storage/cacher/store"
)

// state is everything that a read needs, as of one revision. It is immutable once published, so reads need no lock,
// however long they take.
type state struct {
	// revision is the latest issued revision, epochFirst the first one of its epoch. past are the earlier epochs of
	// this store, as far back as floor.
	revision   uint64
	epochFirst uint64
	past       []span
	// epochs is false for a store that has one endless epoch.
	epochs bool
	synced bool

	objects btree.Snapshot
	count   int64

	// history holds every event after floor, in order. States share its backing array: the writer appends behind the
	// end that earlier states see.
	history []*event
	floor   uint64
	// compacted is the floor once dropped events have moved it, and 0 before.
	compacted uint64

	// superseded is closed as soon as a newer state can be loaded.
	superseded chan struct{}
}

func (s *state) standingOf(revision uint64) standing {
	switch {
	case revision > s.revision && (!s.epochs || epochOf(revision) == epochOf(s.revision)):
		return standingFuture
	case revision > s.revision:
		return standingAhead
	case !s.issued(revision):
		return standingForeign
	case revision < s.floor:
		return standingCompacted
	default:
		return standingRetained
	}
}

func (s *state) issued(revision uint64) bool {
	current := span{first: s.epochFirst, last: s.revision}
	return current.contains(revision) || slices.ContainsFunc(s.past, func(p span) bool { return p.contains(revision) })
}

// indexAfter returns the position in the history of the first event after revision.
func (s *state) indexAfter(revision uint64) int {
	at, _ := slices.BinarySearchFunc(s.history, revision+1, func(e *event, want uint64) int { return cmp.Compare(e.revision, want) })
	return at
}

// eventsAfter fills buf, up to its capacity, with the events after cursor. It returns the revision up to which the
// events are complete, and false if some of them were dropped.
func (s *state) eventsAfter(cursor uint64, buf []*event) (events []*event, next uint64, complete bool) {
	if cursor < s.floor {
		return nil, cursor, false
	}
	pending := s.history[s.indexAfter(cursor):]
	if len(pending) > cap(buf) {
		pending = pending[:cap(buf)]
		return append(buf[:0], pending...), pending[len(pending)-1].revision, true
	}
	return append(buf[:0], pending...), s.revision, true
}

// changedSince returns the element at revision for each key that changed later, nil if it did not exist.
func (s *state) changedSince(revision uint64) map[string]*btree.Element {
	before := map[string]*btree.Element{}
	for _, e := range s.history[s.indexAfter(revision):] {
		if _, seen := before[e.key]; !seen {
			before[e.key] = e.previous
		}
	}
	return before
}

// get returns the element at a key as of a retained revision, or nil.
func (s *state) get(key string, revision uint64) (*btree.Element, error) {
	for _, e := range s.history[s.indexAfter(revision):] {
		if e.key == key {
			return e.previous, nil
		}
	}
	item, exists, err := s.objects.GetByKey(key)
	if err != nil || !exists {
		return nil, err
	}
	return item.(*btree.Element), nil
}

// list returns the elements below prefix, from the key start on (if not empty), ordered by key, as of a retained
// revision. It rewinds the current tree by the later events, so old revisions cost no memory until a client asks.
func (s *state) list(prefix, start string, revision uint64) ([]*btree.Element, error) {
	items, err := s.objects.OrderedListPrefix(prefix, start)
	if err != nil {
		return nil, err
	}
	before := s.changedSince(revision)
	elements := make([]*btree.Element, 0, len(items))
	for _, item := range items {
		element := item.(*btree.Element)
		if _, changed := before[element.Key]; !changed {
			elements = append(elements, element)
		}
	}
	if len(before) == 0 {
		return elements, nil
	}
	for key, element := range before {
		if element != nil && strings.HasPrefix(key, prefix) && key >= start {
			elements = append(elements, element)
		}
	}
	slices.SortFunc(elements, func(a, b *btree.Element) int { return strings.Compare(a.Key, b.Key) })
	return elements, nil
}

// record appends events and drops those beyond the bounds: more than limit, or not after oldest. It returns the
// number of dropped events.
func (s *state) record(events []*event, limit int, oldest time.Time) int {
	history := append(s.history, events...)
	drop := max(0, len(history)-limit)
	for drop < len(history) && !history[drop].at.After(oldest) {
		drop++
	}
	if drop == 0 {
		s.history = history
		return 0
	}
	s.compactTo(history[drop-1].revision)
	s.history = history[drop:]
	if drop > len(s.history) {
		// Otherwise the large array would keep the dropped events in memory.
		s.history = slices.Clone(s.history)
	}
	return drop
}

func (s *state) compactTo(floor uint64) {
	s.floor, s.compacted = floor, floor
	s.past = slices.DeleteFunc(slices.Clone(s.past), func(p span) bool { return p.last < floor })
}
