// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"sync"
	"time"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// assessed is an assessment with its members that are not yet trusted or delivered.
type assessed struct {
	*trust.Assessment
	late map[lateMember]bool

	of *trust.Domain
	at time.Time
}

type lateMember struct{ party, member string }

func assess(d *trust.Domain, now time.Time) *assessed {
	a := &assessed{Assessment: trust.Assess(d, now), late: map[lateMember]bool{}, of: d, at: now}
	for i := range a.Members {
		if m := &a.Members[i]; !m.Trusted || !m.Delivered {
			a.late[lateMember{m.Party, m.Member}] = true
		}
	}
	return a
}

// holds reports whether the assessment is still current: the domain is the same, and no deadline has passed since.
func (a *assessed) holds(d *trust.Domain, now time.Time) bool {
	return a != nil && a.of == d && !now.Before(a.at) && (a.Recheck.IsZero() || now.Before(a.Recheck))
}

// assessments caches the last assessment of each domain: thousands of members are probed while a domain stays the
// same.
type assessments struct {
	mu      sync.Mutex
	domains map[domainKey]*lastAssessed
}

type lastAssessed struct {
	// mu lets one goroutine assess while the others wait for its result.
	mu   sync.Mutex
	last *assessed
}

func (s *assessments) get(d *trust.Domain, now time.Time) *assessed {
	entry := s.entry(domainKey{namespace: d.Namespace, domain: d.Name})
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if !entry.last.holds(d, now) {
		entry.last = assess(d, now)
	}
	return entry.last
}

func (s *assessments) entry(key domainKey) *lastAssessed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.domains[key] == nil {
		s.domains[key] = &lastAssessed{}
	}
	return s.domains[key]
}

func (s *assessments) keep(namespace string, n *inventory.Namespace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.domains {
		if key.namespace == namespace && (n == nil || n.Domain(key.domain) == nil) {
			delete(s.domains, key)
		}
	}
}
