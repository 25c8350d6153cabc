// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"maps"
	"sync"
	"time"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// status is what was last found of a domain.
type status struct {
	stage trust.Stage
	// blocked says what the domain waits for since blockedAt, "" if nothing is blocked; told is the text of the last event.
	blocked   string
	blockedAt time.Time
	told      string
	blockers  int
	problems  int
	// signer is the name of the signer Secret, and expires when its active CA ends; zero if there is none.
	signer  string
	expires time.Time
}

func statusOf(d *trust.Domain, a *trust.Assessment, now time.Time) status {
	s := status{
		stage: a.Stage, blocked: blockedText(a), blockedAt: now, blockers: len(a.Blockers), problems: len(a.Problems), signer: d.Signer.Name,
	}
	if d.Signer.Active != nil {
		s.expires = d.Signer.Active.NotAfter
	}
	return s
}

// reports remember what was reported, so that it is reported once. They are kept in memory only: after a restart what
// still holds is said again.
type reports struct {
	mu       sync.Mutex
	statuses map[key]status
	problems map[key]map[trust.Problem]bool
}

func newReports() *reports {
	return &reports{statuses: map[key]status{}, problems: map[key]map[trust.Problem]bool{}}
}

// blockedPatience is how long a rotation waits for the same before that is worth an event: relying parties take a moment
// to reload in every rotation.
const blockedPatience = 10 * time.Second

// replace stores a status and returns the one before, if there was one. tell says that the domain has waited for the
// same long enough; in is how long until it will have, zero if it does not wait.
func (r *reports) replace(k key, s status) (before status, known, tell bool, in time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known = r.statuses[k]
	if s.blocked != "" && s.blocked != before.told {
		waited := time.Duration(0)
		if s.blocked == before.blocked {
			waited = s.blockedAt.Sub(before.blockedAt)
			s.blockedAt = before.blockedAt
		}
		tell, in = waited >= blockedPatience, max(blockedPatience-waited, 0)
	}
	if s.blocked != "" {
		s.told = before.told
	}
	if tell {
		s.told = s.blocked
	}
	r.statuses[k] = s
	return before, known, tell, in
}

// newProblems stores the problems of a key and returns those that it did not have before.
func (r *reports) newProblems(k key, problems []trust.Problem) []trust.Problem {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.problems[k]
	now := make(map[trust.Problem]bool, len(problems))
	var added []trust.Problem
	for _, p := range problems {
		if !before[p] && !now[p] {
			added = append(added, p)
		}
		now[p] = true
	}
	r.problems[k] = now
	return added
}

func (r *reports) forget(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.statuses, k)
	delete(r.problems, k)
}

// without lists the domains that were reported of a namespace and are not in it any more.
func (r *reports) without(namespace string, n *inventory.Namespace) []key {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gone []key
	for k := range r.statuses {
		if k.namespace == namespace && (n == nil || n.Domain(k.domain) == nil) {
			gone = append(gone, k)
		}
	}
	return gone
}

// snapshot returns all statuses.
func (r *reports) snapshot() map[key]status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.statuses)
}
