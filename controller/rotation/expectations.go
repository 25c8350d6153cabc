// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// expectationTimeout is how long a cache may take to show a write of ours before decisions are made on live reads. A
// watch usually delivers within milliseconds.
const expectationTimeout = 5 * time.Second

// expectations remember what was written and not yet seen in the cache, by key of the queue.
type expectations struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	keys map[key]*expectation
}

type expectation struct {
	// versions are the resource versions written, by object.
	versions map[object]string
	since    time.Time
}

func newExpectations(c clock.PassiveClock) *expectations {
	return &expectations{clock: c, keys: map[key]*expectation{}}
}

func (e *expectations) expect(k key, o object, version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keys[k] == nil {
		e.keys[k] = &expectation{versions: map[object]string{}}
	}
	e.keys[k].versions[o] = version
	e.keys[k].since = e.clock.Now()
}

// freshness says what a look at the cache has found.
type freshness int

const (
	// fresh: everything that was written has been seen.
	fresh freshness = iota
	// behind: wait for the cache.
	behind
	// lost: the cache has not shown a write in time; read live.
	lost
)

// check compares the cache with what was written, and forgets what was seen. The duration is how long to wait at most
// if the cache is behind.
func (e *expectations) check(k key, s *inventory.Sources) (freshness, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	expected := e.keys[k]
	if expected == nil {
		return fresh, 0
	}
	for o, version := range expected.versions {
		if seen(versionOf(s, o), version) {
			delete(expected.versions, o)
		}
	}
	left := expectationTimeout - e.clock.Since(expected.since)
	switch {
	case len(expected.versions) == 0:
		delete(e.keys, k)
		return fresh, 0
	case left <= 0:
		delete(e.keys, k)
		return lost, 0
	}
	return behind, left
}

func (e *expectations) forget(k key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.keys, k)
}

// seen says whether version have is want or a later one. Versions that cannot be compared have to be equal.
func seen(have, want string) bool {
	if have == want {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(have, want)
	return err == nil && order >= 0
}

// versionOf is the resource version of an object in the cache, "" if it is not there.
func versionOf(s *inventory.Sources, o object) string {
	if s == nil {
		return ""
	}
	if o.kind == trust.ConfigMapKind {
		if cm := s.ConfigMaps[o.name]; cm != nil {
			return cm.ResourceVersion
		}
		return ""
	}
	if secret := s.Secrets[o.name]; secret != nil {
		return secret.ResourceVersion
	}
	// Of Secrets of other types only aggregates are written. Their metadata and their content come from watches of their
	// own; while there is no content, there is nothing to decide on.
	if other := s.Others[o.name]; other != nil && other.Aggregate != nil {
		return other.ResourceVersion
	}
	return ""
}
