// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// expectationTimeout is how long the cache may take to show a write before decisions use live reads. A watch usually
// delivers within milliseconds.
const expectationTimeout = 5 * time.Second

type object struct {
	kind            trust.ObjectKind
	namespace, name string
}

func (o object) String() string { return string(o.kind) + " " + o.namespace + "/" + o.name }

// expectations hold the writes that the cache has not shown yet.
type expectations struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	keys map[key]*expectation
}

type expectation struct {
	outcomes map[object]outcome
	since    time.Time
}

// outcome is what the cache must show of an object: the written resource version or a later one. Without a version,
// the object with that UID must be gone, or any object of the name if the UID is unknown.
type outcome struct {
	version string
	gone    types.UID
}

func newExpectations(c clock.PassiveClock) *expectations {
	return &expectations{clock: c, keys: map[key]*expectation{}}
}

func (e *expectations) expect(k key, o object, version string) {
	e.add(k, o, outcome{version: version})
}

func (e *expectations) expectGone(k key, o object, uid types.UID) { e.add(k, o, outcome{gone: uid}) }

func (e *expectations) add(k key, o object, written outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.keys[k] == nil {
		e.keys[k] = &expectation{outcomes: map[object]outcome{}}
	}
	e.keys[k].outcomes[o] = written
	e.keys[k].since = e.clock.Now()
}

type freshness int

const (
	// fresh: the cache shows every write.
	fresh freshness = iota
	// behind: wait for the cache.
	behind
	// lost: the cache has not shown a write in time; read live.
	lost
)

// check compares the cache with the writes, and drops the writes that it shows. If the cache is behind, the duration
// is how long to wait at most.
func (e *expectations) check(k key, s *inventory.Sources) (freshness, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	expected := e.keys[k]
	if expected == nil {
		return fresh, 0
	}
	for o, written := range expected.outcomes {
		if uid, version := stateOf(s, o); written.shownBy(uid, version) {
			delete(expected.outcomes, o)
		}
	}
	waited := e.clock.Since(expected.since)
	left := expectationTimeout - waited
	switch {
	case len(expected.outcomes) == 0:
		delete(e.keys, k)
		return fresh, 0
	case left <= 0, waited < 0: // A clock that was set back measures no duration.
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

// shownBy reports whether an object in the cache shows the write.
func (o outcome) shownBy(uid types.UID, version string) bool {
	if o.version == "" {
		return version == "" || (o.gone != "" && uid != o.gone)
	}
	return seen(version, o.version)
}

// seen reports whether version have is want or a later one. Versions that cannot be compared must be equal.
func seen(have, want string) bool {
	if have == want {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(have, want)
	return err == nil && order >= 0
}

// stateOf returns the UID and the version of an object in the cache, "" if it is absent.
func stateOf(s *inventory.Sources, o object) (types.UID, string) {
	if s == nil {
		return "", ""
	}
	switch o.kind {
	case trust.ConfigMapKind:
		if cm := s.ConfigMaps[o.name]; cm != nil {
			return cm.UID, cm.ResourceVersion
		}
	case inventory.ConfigurationKind:
		if cfg := s.Configurations[o.name]; cfg != nil {
			return cfg.UID, cfg.ResourceVersion
		}
	case trust.RecordKind:
		if r := s.Records[o.name]; r != nil {
			return r.UID, r.ResourceVersion
		}
	case trust.SecretKind:
		if secret := s.Secrets[o.name]; secret != nil {
			return secret.UID, secret.ResourceVersion
		}
		// Of Secrets of other types, only aggregates are written. Their metadata and content come from separate
		// watches; without content there is nothing to decide on.
		if other := s.Others[o.name]; other != nil && other.Aggregate != nil {
			return other.UID, other.ResourceVersion
		}
	}
	return "", ""
}
