// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"
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

// maxClockSkew is how far a clock may be off before no decision is based on it. A clock may be ahead only by the
// backdate of certificates: other machines would not accept its certificates yet. minClockSkew is always allowed, as
// a comparison of clocks may be off by that much.
const (
	maxClockSkew = 10 * time.Minute
	minClockSkew = time.Minute
)

// mostUnwatched bounds the time since the last assessment of a domain: a weekend. Within it, what has expired
// meanwhile has expired for sure. A single clock that jumps, as on a cluster's only machine, has no other clock to
// disagree with it.
const mostUnwatched = 3 * 24 * time.Hour

// unwatched reports whether more time has passed since the last assessment than time alone is trusted with.
func (a *facts) unwatched() bool {
	return !a.d.LookedAt.IsZero() && a.now.After(a.d.LookedAt.Add(mostUnwatched))
}

// anyBefore reports whether a CA or a leaf of the domain was made before then.
func (a *facts) anyBefore(then time.Time) bool {
	made := func(c *pki.Certificate) bool { return c != nil && !c.NotBefore.After(then) }
	return slices.ContainsFunc(a.d.Signer.slots(), made) ||
		slices.ContainsFunc(a.d.Bundle.Anchors, func(ca *pki.Certificate) bool { return made(ca) && a.slot(ca) != SlotForeign }) ||
		slices.ContainsFunc(a.d.Leaves, func(l Leaf) bool { return made(l.Certificate) })
}

// unsure reports whether an expired certificate may still be in use: it ended long after the last assessment, so that
// only a clock says so. It is renewed and replaced like any other, but nothing is removed because of it.
func (a *facts) unsure(c *pki.Certificate) bool {
	return c != nil && c.Expired(a.now) && !a.d.LookedAt.IsZero() && c.NotAfter.After(a.d.LookedAt.Add(mostUnwatched))
}

// ended reports whether a certificate cannot be in use any more.
func (a *facts) ended(c *pki.Certificate) bool { return c.Expired(a.now) && !a.unsure(c) }

// early reports whether a certificate is not valid yet by any of the known clocks.
func (a *facts) early(c *pki.Certificate) bool { return c.NotBefore.After(a.d.Recorded(a.now)) }

// ahead reports whether only a clock that was ahead can have recorded a time.
func (a *facts) ahead(t time.Time) bool { return t.After(a.now.Add(maxClockSkew)) }

// tooEarly reports whether a CA of the signer is not valid yet: a clock that was ahead made it.
func (a *facts) tooEarly(ca *pki.Certificate) bool { return ca != nil && ca.NotBefore.After(a.now) }

// mostAhead bounds how far the clock may be ahead. The dates of what another issuer makes do not come from it.
func (a *facts) mostAhead() time.Duration {
	most := maxClockSkew
	if s := &a.d.Signer; s.Issued == nil {
		most = min(most, s.backdate())
	}
	for i := range a.d.Leaves {
		if l := &a.d.Leaves[i]; l.Issued == nil {
			most = min(most, l.Policy.Profile.Backdate)
		}
	}
	return max(most, minClockSkew)
}

func (a *facts) skewProblem() *Problem {
	skew := a.d.ClockSkew
	if skew >= -maxClockSkew && (skew <= minClockSkew || skew <= a.mostAhead()) {
		return nil
	}
	return &Problem{Object: secret(a.d.Signer.Name), Reason: ReasonClockSkewed, Message: fmt.Sprintf(
		"the controller's clock differs from the API server's by %s; nothing is issued or retired until the clocks agree", skew.Round(time.Second))}
}

// clockProblem reports that the clock is in doubt: it is far from the API server's, or before the beginning of a CA
// of this domain. With such a clock nothing is made or retired, as everything might look expired, or new. The message
// omits the time of the clock, so that it stays the same each time.
func (a *facts) clockProblem() *Problem {
	if p := a.skewProblem(); p != nil {
		return p
	}
	s := &a.d.Signer
	object := secret(s.Name)
	const doubt = "; nothing is issued or retired until it is not. If the clock is right now, and was ahead then, "
	anew := doubt + "delete " + object + ": a new CA is made, and distributed before it signs"
	for _, ca := range s.slots() {
		if a.tooEarly(ca) && !a.wasDropped(ca) {
			return &Problem{Object: object, Reason: ReasonClockSkewed, Message: fmt.Sprintf("the clock is before the beginning of %s%s", ca.Subject, anew)}
		}
	}
	// Without a time an anchor counts as not published, so no wait gets shorter.
	again := fmt.Sprintf("%sremove the annotation %s from %s: the times are recorded again", doubt, AnnotationPublished, a.d.Bundle.Ref())
	for _, record := range []struct {
		at  time.Time
		way string
	}{{a.promotedAt(), anew}, {a.latestPublication(), again}} {
		if a.ahead(record.at) {
			return &Problem{Object: object, Reason: ReasonClockSkewed, Message: fmt.Sprintf(
				"the clock is before %s, when something was recorded in this trust domain%s", record.at.UTC().Format(time.RFC3339), record.way)}
		}
	}
	return nil
}

// Looked returns the time to record for Domain.LookedAt. It stays as it was while the clock is in doubt, and from a
// possible jump on as long as something exists that was made before it: what ends after the jump ends by that clock alone.
func (a *Assessment) Looked(d *Domain, now time.Time) time.Time {
	f := &facts{d: d, now: now}
	if a.ClockDoubted() || a.has(ReasonClockJumped) || f.unwatched() && f.anyBefore(d.LookedAt) {
		return d.LookedAt
	}
	return now.UTC().Truncate(time.Second)
}

// jumpProblem reports certificates that expired while the domain was not assessed, and the way out.
func (a *facts) jumpProblem() *Problem {
	var subjects []string
	for _, ca := range a.authorities {
		if a.unsure(ca) {
			subjects = append(subjects, ca.Subject)
		}
	}
	for i := range a.d.Leaves {
		if l := &a.d.Leaves[i]; a.unsure(l.Certificate) {
			subjects = append(subjects, secret(l.Name))
		}
	}
	if len(subjects) == 0 {
		return nil
	}
	return &Problem{Object: secret(a.d.Signer.Name), Reason: ReasonClockJumped, Message: fmt.Sprintf(
		"%s expired more than %s after this trust domain was last looked at, at %s: if the clock has jumped, they may be in use. What is needed is "+
			"replaced as in every rotation, and nothing is taken away until every relying party is seen to have loaded the new CA and to present its current "+
			"leaves. If the clock is wrong, put it right; a member that does not run any more ends its wait with `kubectl certrotation waive`",
		strings.Join(subjects, ", "), mostUnwatched, a.d.LookedAt.UTC().Format(time.RFC3339))}
}

// latestPublication returns the last recorded publication of an anchor. It ignores an anchor that is not valid yet
// and is retired or taken back: a clock that was ahead made it and its record.
func (a *facts) latestPublication() time.Time {
	var latest time.Time
	for _, ca := range a.d.Bundle.Anchors {
		ahead := a.early(ca) && (a.slot(ca) == SlotRetired || a.wasDropped(ca))
		if at := a.published[ca.Fingerprint]; at.After(latest) && !ahead {
			latest = at
		}
	}
	return latest
}

// signerAhead reports whether a clock that was ahead wrote the signer, so that it must be deleted once the clock is
// right.
func (a *facts) signerAhead() bool {
	return a.ahead(a.promotedAt()) ||
		slices.ContainsFunc(a.d.Signer.slots(), func(ca *pki.Certificate) bool { return a.early(ca) && !a.wasDropped(ca) })
}

// publishedAhead reports whether a clock that was ahead recorded the times of publication, so that they must be
// removed.
func (a *facts) publishedAhead() bool { return a.ahead(a.latestPublication()) }

// wasDropped reports whether a CA that is not valid yet is no reason to doubt the clock: it is or was dropped without
// ever having signed.
func (a *facts) wasDropped(ca *pki.Certificate) bool {
	if a.neverSigned(ca) || same(ca, a.d.Signer.Next) && a.madeAhead() {
		return true
	}
	dropped := slices.ContainsFunc(a.d.Signer.Previous, ca.Equal) && !a.wasActive(ca)
	return dropped && a.d.Roster != nil && !a.mayHaveSigned(ca) && !a.tooEarly(a.d.Signer.Active)
}

// madeAhead reports whether a clock that was ahead made next, and next can be dropped. The active CA must not be from
// such a clock. If next may have signed, as the active CA could not by that clock, an unseen leaf of it may exist.
func (a *facts) madeAhead() bool {
	s := &a.d.Signer
	return a.abortable() && !a.mayHaveSigned(s.Next) && a.ahead(s.Next.NotBefore) && !a.tooEarly(s.Active)
}

// longestLease is the longest that a configuration may ask for.
const longestLease = 30 * 24 * time.Hour

// ObservedAhead reports whether a clock that was ahead, and is not any more, made an observation, or prolonged it.
func (o *Observation) ObservedAhead(now time.Time) bool {
	return o.aheadUntil().After(now)
}

// aheadUntil returns until when only a clock that is ahead can have written the observation.
func (o *Observation) aheadUntil() time.Time {
	written := o.Expires.Add(-longestLease)
	if o.ObservedAt.After(written) {
		written = o.ObservedAt
	}
	return written.Add(-maxClockSkew)
}

// fromTheFuture reports whether an observation, or the process that it is of, is from a time that has not come.
func (a *facts) fromTheFuture(o *Observation) bool {
	return o.ObservedAhead(a.now) || a.ahead(o.StartedAt)
}

// ofTheFuture returns an observation of a member from the future, nil if there is none. It proves nothing, except
// that an unknown process exists.
func (a *facts) ofTheFuture(p *Party, m *Member) *Observation {
	for i := range m.Observations {
		if o := &m.Observations[i]; o.Kind == p.Kind && a.fromTheFuture(o) {
			return o
		}
	}
	return nil
}
