// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"certrotation.dev/registry/trust"
)

// absenceRetry is how long an answer about missing members stays valid.
const absenceRetry = time.Minute

// absences cache the answers about members that the configuration no longer names, so that not every pass over a
// domain reads nodes and pods.
type absences struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	answers map[key]absenceAnswer
}

type absenceAnswer struct {
	// missing are the members of the answer, sorted.
	missing []string
	proofs  map[string]string
	at      time.Time
}

func newAbsences(c clock.PassiveClock) *absences {
	return &absences{clock: c, answers: map[key]absenceAnswer{}}
}

func (a *absences) get(k key, missing []string) (map[string]string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer, ok := a.answers[k]
	age := a.clock.Since(answer.at)
	if !ok || age < 0 || age >= absenceRetry || !slices.Equal(answer.missing, missing) {
		return nil, false
	}
	return answer.proofs, true
}

func (a *absences) put(k key, missing []string, proofs map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[k] = absenceAnswer{missing: missing, proofs: maps.Clone(proofs), at: a.clock.Now()}
}

func (a *absences) forget(k key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.answers, k)
}

// withAbsences asks for proof that members are gone that still count although the configuration does not name them.
// It returns the domain with the proofs. unproven reports that some members have none.
func (c *Controller) withAbsences(ctx context.Context, k key, d *trust.Domain) (_ *trust.Domain, unproven bool, _ error) {
	if c.evidence == nil {
		return d, false, nil
	}
	missing := trust.Missing(d)
	if len(missing) == 0 {
		c.absences.forget(k)
		return d, false, nil
	}
	names := make([]string, 0, len(missing))
	for i := range missing {
		names = append(names, trust.AbsenceKey(&missing[i]))
	}
	slices.Sort(names)
	proofs, known := c.absences.get(k, names)
	if !known {
		var err error
		if proofs, err = c.evidence.Absences(ctx, d, missing); err != nil {
			return nil, false, fmt.Errorf("ask whether %d members are gone: %w", len(missing), err)
		}
		c.absences.put(k, names, proofs)
	}
	out := *d
	out.Absences = proofs
	return &out, slices.ContainsFunc(names, func(name string) bool { return proofs[name] == "" }), nil
}
