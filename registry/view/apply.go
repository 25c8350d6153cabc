// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	btree "k8s.io/apiserver/pkg/storage/cacher/store"
)

// freshEvents is how many of the newest events keep their encodings for watches to share. A watch that lags further
// behind encodes for itself.
const freshEvents = 256

// Change sets or deletes the object at a key.
type Change struct {
	// Key is "namespace/name".
	Key string
	// Object is the new content, owned by the store from here on. Its resource version is overwritten. Nil deletes.
	Object runtime.Object
}

// Apply makes the changes in order and returns the revision that contains them all. Each change gets its own
// revision. If the object stays the same, there is neither a revision nor an event. All changes become visible at
// once. Nothing is applied if an object lacks metadata or attributes. Nor is anything if the sequence of the current
// epoch is used up and no new epoch can be obtained.
func (s *Store) Apply(changes []Change) (uint64, error) {
	elements, err := s.elements(changes)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lifetime.Err() != nil {
		return 0, errors.New("view store is stopped")
	}
	if s.current.Load() == nil {
		return 0, errors.New("view store is not started")
	}
	if err := s.reserve(uint64(len(elements))); err != nil {
		return 0, err
	}
	return s.commit(elements)
}

// elements prepares the changes: everything that may fail and needs no lock.
func (s *Store) elements(changes []Change) ([]*btree.Element, error) {
	elements := make([]*btree.Element, 0, len(changes))
	for _, change := range changes {
		element := &btree.Element{Key: s.cfg.ResourcePrefix + change.Key, Object: change.Object}
		if change.Object != nil {
			if err := s.cfg.Versioner.PrepareObjectForStorage(change.Object); err != nil {
				return nil, fmt.Errorf("reset version of %s %q: %w", s.cfg.Resource, change.Key, err)
			}
			// Each selector asks for them again. An object without attributes must not get in.
			if _, _, err := s.cfg.GetAttrs(change.Object); err != nil {
				return nil, fmt.Errorf("attributes of %s %q: %w", s.cfg.Resource, change.Key, err)
			}
		}
		elements = append(elements, element)
	}
	return elements, nil
}

// commit stores the elements and, if anything has changed, publishes one new state. If it fails half-way, the changes
// before the failing one are kept.
func (s *Store) commit(elements []*btree.Element) (uint64, error) {
	next := *s.current.Load()
	now := s.cfg.Clock.Now()
	before := next.count
	var events []*event
	var failure error
	for _, element := range elements {
		e, err := s.put(element, next.revision+1)
		if err != nil {
			failure = fmt.Errorf("store %q: %w", element.Key, err)
			break
		}
		if e == nil {
			continue
		}
		e.at = now
		next.revision = e.revision
		next.count += e.growth()
		events = append(events, e)
	}
	if len(events) == 0 {
		return next.revision, failure
	}
	if next.synced {
		limit := max(s.cfg.HistoryEvents, int(2*max(before, next.count)))
		next.record(events, limit, now.Add(-s.cfg.HistoryAge))
		retire(next.history, len(events))
	} else {
		next.floor = next.revision
	}
	next.objects = s.objects.Clone()
	s.publish(&next)
	return next.revision, failure
}

// put writes one element to the tree and returns the event, or nil if nothing changed.
func (s *Store) put(element *btree.Element, revision uint64) (*event, error) {
	item, exists, err := s.objects.GetByKey(element.Key)
	if err != nil {
		return nil, err
	}
	var previous *btree.Element
	if exists {
		previous = item.(*btree.Element)
	}
	if element.Object == nil {
		if previous == nil {
			return nil, nil
		}
		return &event{revision: revision, key: element.Key, previous: previous}, s.objects.Delete(previous)
	}
	if previous != nil {
		same, err := s.unchanged(previous.Object, element.Object)
		if err != nil || same {
			return nil, err
		}
	}
	if err := s.cfg.Versioner.UpdateObject(element.Object, revision); err != nil {
		return nil, err
	}
	return &event{revision: revision, key: element.Key, previous: previous, current: element}, s.objects.Update(element)
}

// unchanged compares everything but the resource version, which it copies to the new object.
func (s *Store) unchanged(previous, object runtime.Object) (bool, error) {
	revision, err := s.cfg.Versioner.ObjectResourceVersion(previous)
	if err != nil {
		return false, err
	}
	if err := s.cfg.Versioner.UpdateObject(object, revision); err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(previous, object), nil
}

// growth returns by how much the event changes the number of objects.
func (e *event) growth() int64 {
	switch {
	case e.previous == nil:
		return 1
	case e.current == nil:
		return -1
	default:
		return 0
	}
}

// retire releases the shared objects of the events that are no longer fresh after the last ones were added.
func retire(history []*event, added int) {
	end := max(0, len(history)-freshEvents)
	for _, e := range history[max(0, end-added):end] {
		e.retire()
	}
}
