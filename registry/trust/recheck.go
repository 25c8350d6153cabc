// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// moments finds the first moment after now.
type moments struct{ now, next time.Time }

func (m *moments) add(t time.Time) {
	if t.After(m.now) && (m.next.IsZero() || t.Before(m.next)) {
		m.next = t
	}
}

// addEnd adds the moment after the last one of a certificate.
func (m *moments) addEnd(c *pki.Certificate) { m.add(c.NotAfter.Add(time.Nanosecond)) }

// recheck returns the next moment at which time alone changes the assessment, zero if never.
func (a *assessor) recheck(out *Assessment, turn *turn) time.Time {
	m := a.changes()
	for _, ca := range slices.Concat(a.authorities, a.claimed) {
		m.add(ca.NotBefore)
		m.addEnd(ca)
	}
	for i := range a.d.Leaves {
		m.add(out.Leaves[i].Due)
		if c := a.d.Leaves[i].Certificate; c != nil {
			m.add(c.NotBefore)
			m.addEnd(c)
		}
	}
	m.add(out.SignerDue)
	m.add(out.StageDeadline)
	m.add(turn.next)
	for _, r := range a.ownerless() {
		m.add(r.Expires)
	}
	m.add(a.promotedAt().Add(-maxClockSkew))
	m.add(a.latestPublication().Add(-maxClockSkew))
	return m.next
}

// changes collects the moments at which time alone changes what is known of members, and of leaves that no Secret
// holds.
func (a *assessor) changes() moments {
	m := moments{now: a.now}
	for _, p := range a.parties {
		for i := range p.Members {
			member := &p.Members[i]
			for _, o := range a.observations[member] {
				m.add(o.Expires)
			}
			if o := a.ofTheFuture(p, member); o != nil {
				m.add(o.aheadUntil())
			}
			m.add(member.recoveredUntil().Add(time.Nanosecond))
			if w := a.waiver(p, member); w != nil {
				m.add(w.Expires)
			}
		}
		for _, ca := range a.authorities {
			m.add(a.untrusting(p, ca).until)
		}
	}
	m.add(a.undelivering().until)
	m.add(a.drainsUntil())
	return m
}
