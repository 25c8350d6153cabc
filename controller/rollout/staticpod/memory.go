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

type id struct{ namespace, name string }

func (l *look) id() id { return id{namespace: l.namespace, name: l.name} }

// remembered is what the controller knows of one rollout between two passes. Safety never depends on it: a restarted
// process waits a little longer at most, and repeats some reports.
type remembered struct {
	status *rollout.Status
	// hash is the content hash of the sources since the time since. differs is when it began to differ from the
	// latest revision.
	hash           string
	since, differs time.Time
	// copies is the latest revision whose copies were all found, and keys holds the data keys of its Secrets.
	copies int
	// checked identifies the last checked content. problem is why it is not usable, "" if it is; missing is
	// Limits.Missing for its manifests.
	checked, problem string
	missing          time.Duration
	keys             map[string]map[string]bool
	// installers are the installer pods last seen, by node name.
	installers map[string]string
	failures   map[string]string
}

type memory struct {
	mu    sync.Mutex
	known map[id]*remembered
}

func newMemory() *memory { return &memory{known: map[id]*remembered{}} }

// with calls fn with what is remembered of a rollout, under the lock.
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

// keep drops the rollouts that the namespace no longer has.
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

// failed records the error of a controller, or clears it if err is nil or benign.
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
