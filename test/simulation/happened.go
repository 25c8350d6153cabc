// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"
	"time"

	"certrotation.dev/registry/trust"
)

// happened counts what the state of a domain shows to have happened.
func (w *world) happened(d *trust.Domain, a *trust.Assessment, h *history) {
	now := w.clock.now()
	note := func(is bool, what happening) {
		if is && !h.noted[what] {
			w.counts.event(what)
		}
		if h.noted == nil {
			h.noted = map[happening]bool{}
		}
		h.noted[what] = is
	}
	over := func(t time.Time) bool { return !t.IsZero() && !t.After(now) }
	was := h.noted[dueSigner]
	note(d.Signer.Active != nil && over(a.SignerDue), dueSigner)
	note(was && !h.noted[dueSigner], rotatedSigner)
	was = h.noted[dueLeaf]
	note(slices.ContainsFunc(a.Leaves, func(l trust.LeafAssessment) bool { return over(l.Due) }), dueLeaf)
	note(was && !h.noted[dueLeaf], renewedLeaf)
	note(d.Signer.Next != nil && d.Signer.Next.Expired(now), expiredNext)
	note(slices.ContainsFunc(a.Problems, func(p trust.Problem) bool { return p.Reason == trust.ReasonClockSkewed }), clockProblem)
	note(slices.ContainsFunc(a.Problems, func(p trust.Problem) bool { return p.Reason == trust.ReasonDiverged }), diverged)
	note(slices.ContainsFunc(a.Blockers, func(b trust.Blocker) bool { return b.Reason == trust.ReasonWriteRefused }), refusalShown)
	note(slices.ContainsFunc(a.Blockers, func(b trust.Blocker) bool { return b.Reason == trust.ReasonPaced }), paced)
	note(slices.ContainsFunc(a.Blockers, func(b trust.Blocker) bool { return b.Reason == trust.ReasonHeld }), issuedHeld)
	note(slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return l.Problem != nil }), unreadableLeaf)
	note(a.InFlight() && slices.ContainsFunc(d.Parties, func(p trust.Party) bool { return hasLapsed(&p, now) }), lapsed)
	note(d.Roster != nil && slices.ContainsFunc(d.Roster.Members, func(m trust.RosterMember) bool { return m.Absent != "" }), recordedAbsent)
	for _, r := range d.Requests {
		h.open = append(h.open, r.ID)
	}
	h.open = slices.DeleteFunc(h.open, func(id string) bool {
		gone := !slices.ContainsFunc(d.Requests, func(r trust.Request) bool { return r.ID == id })
		if gone {
			w.counts.event(answered)
		}
		return gone
	})
	slices.Sort(h.open)
	h.open = slices.Compact(h.open)
}

// hasLapsed reports whether all evidence of a member of the party has expired.
func hasLapsed(p *trust.Party, now time.Time) bool {
	return slices.ContainsFunc(p.Members, func(m trust.Member) bool {
		ended := func(o trust.Observation) bool { return !o.Expires.After(now) }
		return len(m.Observations) > 0 && !slices.ContainsFunc(m.Observations, func(o trust.Observation) bool { return !ended(o) })
	})
}
