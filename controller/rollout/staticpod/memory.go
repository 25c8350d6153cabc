// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"maps"
	"slices"
	"sync"
	"time"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/view/inventory"
)

// id of a rollout.
type id struct{ namespace, name string }

func (l *look) id() id { return id{namespace: l.namespace, name: l.name} }

// remembered is what is known of one rollout between two looks. Nothing that matters for safety is in it: a process that
// starts anew waits a little longer at most, and says some things again.
type remembered struct {
	status *rollout.Status
	// hash is the content of the sources since the time since, and differs is since when it is not that of the latest
	// revision.
	hash           string
	since, differs time.Time
	// copies is the latest revision whose copies were seen to be complete, and lacks what the nodes do not find in it.
	copies int
	// checked is what was last found usable or not: problem is "" if it was, and missing is what its manifest allows for.
	checked, problem string
	missing          time.Duration
	keys             map[string]map[string]bool
	// installers that were seen, by the name of the node.
	installers map[string]string
	failures   map[string]string
}

// memory of all rollouts.
type memory struct {
	mu    sync.Mutex
	known map[id]*remembered
}

func newMemory() *memory { return &memory{known: map[id]*remembered{}} }

// with calls fn with what is remembered of a rollout.
func (m *memory) with(of id, fn func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.known[of]
	if r == nil {
		r = &remembered{installers: map[string]string{}, failures: map[string]string{}}
		m.known[of] = r
	}
	fn(r)
}

// keep forgets the rollouts of a namespace that are not in it any more.
func (m *memory) keep(namespace string, known *inventory.Namespace) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for of := range m.known {
		if of.namespace != namespace {
			continue
		}
		if known == nil || !slices.ContainsFunc(known.Rollouts, func(r *inventory.Rollout) bool { return r.Config.Name == of.name }) {
			delete(m.known, of)
		}
	}
}

// failed remembers that a controller has failed, or that it has not.
func (m *memory) failed(of id, controller string, err error) {
	m.with(of, func(r *remembered) {
		delete(r.failures, controller)
		if err != nil && !apply.Benign(err) {
			r.failures[controller] = err.Error()
		}
	})
}

func (m *memory) failures(of id) map[string]string {
	var out map[string]string
	m.with(of, func(r *remembered) { out = maps.Clone(r.failures) })
	return out
}

// statuses are the latest ones of all rollouts.
func (m *memory) statuses() map[id]*rollout.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[id]*rollout.Status, len(m.known))
	for of, r := range m.known {
		if r.status != nil {
			out[of] = r.status
		}
	}
	return out
}
