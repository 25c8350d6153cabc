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

// mostUnwatched bounds the time since the last assessment of a domain: a weekend. Within it, what has expired
// meanwhile has expired for sure. A single clock that jumps, as on a cluster's only machine, has no other clock to
// disagree with it.
const mostUnwatched = 3 * 24 * time.Hour

// unsure reports whether an expired certificate may still be in use: it ended long after the last assessment, so that
// only a clock says so. It is renewed and replaced like any other, but nothing is removed because of it.
func (a *assessor) unsure(c *pki.Certificate) bool {
	return c != nil && c.Expired(a.now) && !a.d.LookedAt.IsZero() && c.NotAfter.After(a.d.LookedAt.Add(mostUnwatched))
}

// ended reports whether a certificate cannot be in use any more.
func (a *assessor) ended(c *pki.Certificate) bool { return c.Expired(a.now) && !a.unsure(c) }

// jumpProblem reports certificates that expired while the domain was not assessed, and the way out.
func (a *assessor) jumpProblem() *Problem {
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

// Looked returns the time to record for Domain.LookedAt. It stays as it was while the clock is in doubt or may have
// jumped.
func (a *Assessment) Looked(d *Domain, now time.Time) time.Time {
	if a.ClockDoubted() || a.has(ReasonClockJumped) {
		return d.LookedAt
	}
	return now.UTC().Truncate(time.Second)
}

// ahead reports whether only a clock that was ahead can have recorded a time.
func (a *assessor) ahead(t time.Time) bool { return t.After(a.now.Add(maxClockSkew)) }

// tooEarly reports whether a CA of the signer is not valid yet: a clock that was ahead made it.
func (a *assessor) tooEarly(ca *pki.Certificate) bool { return ca != nil && ca.NotBefore.After(a.now) }

// signerAhead reports whether a clock that was ahead wrote the signer, so that it must be deleted once the clock is
// right.
func (a *assessor) signerAhead() bool {
	return a.ahead(a.promotedAt()) ||
		slices.ContainsFunc(a.d.Signer.slots(), func(ca *pki.Certificate) bool { return a.early(ca) && !a.takenBack(ca) })
}

// publishedAhead reports whether a clock that was ahead recorded the times of publication, so that they must be
// removed.
func (a *assessor) publishedAhead() bool { return a.ahead(a.latestPublication()) }

// takenBack reports whether a CA that is not valid yet is no reason to doubt the clock: it is or was dropped without
// ever having signed.
func (a *assessor) takenBack(ca *pki.Certificate) bool {
	if a.neverSigned(ca) || same(ca, a.d.Signer.Next) && a.madeAhead() {
		return true
	}
	dropped := slices.ContainsFunc(a.d.Signer.Previous, ca.Equal) && !a.wasActive(ca)
	return dropped && a.d.Roster != nil && !a.mayHaveSigned(ca) && !a.tooEarly(a.d.Signer.Active)
}

// madeAhead reports whether a clock that was ahead made next, and next can be dropped. The active CA must not be from
// such a clock. If next may have signed, as the active CA could not by that clock, an unseen leaf of it may exist.
func (a *assessor) madeAhead() bool {
	s := &a.d.Signer
	return a.abortable() && !a.mayHaveSigned(s.Next) && a.ahead(s.Next.NotBefore) && !a.tooEarly(s.Active)
}
