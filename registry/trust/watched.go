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

// mostUnwatched is how long time may have passed without anybody who looked at a domain, so that what has expired meanwhile has
// expired for sure: a weekend. A single clock that jumps, as that of the only machine of a cluster, has no other that disagrees.
const mostUnwatched = 3 * 24 * time.Hour

// unsure says whether a certificate that has expired may be in use all the same: it ended long after anybody has last looked, so that
// only a clock says so. It is renewed and replaced like any other, but nothing is taken away because of it.
func (a *assessor) unsure(c *pki.Certificate) bool {
	return c != nil && c.Expired(a.now) && !a.d.LookedAt.IsZero() && c.NotAfter.After(a.d.LookedAt.Add(mostUnwatched))
}

// ended says whether nobody can be using a certificate any more.
func (a *assessor) ended(c *pki.Certificate) bool { return c.Expired(a.now) && !a.unsure(c) }

// jumpProblem says that certificates have expired while nobody looked, and how that ends.
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

// Looked is when the domain of this assessment counts as looked at from now on: not later than before, as long as its clock is doubted or
// may have jumped.
func (a *Assessment) Looked(d *Domain, now time.Time) time.Time {
	if a.ClockDoubted() || a.has(ReasonClockJumped) {
		return d.LookedAt
	}
	return now.UTC().Truncate(time.Second)
}

// tooEarly says whether a CA of the signer was made by a clock that was ahead, and its time has not come.
func (a *assessor) tooEarly(ca *pki.Certificate) bool { return ca != nil && ca.NotBefore.After(a.now) }

// signerAhead says whether the signer was written by a clock that was ahead, so that it is to be deleted when the clock is right.
func (a *assessor) signerAhead() bool {
	return a.promotedAt().After(a.now.Add(maxClockSkew)) ||
		slices.ContainsFunc(a.d.Signer.slots(), func(ca *pki.Certificate) bool { return a.early(ca) && !a.takenBack(ca) })
}

// publishedAhead says whether the times of publication were recorded by a clock that was ahead, so that they are to be removed.
func (a *assessor) publishedAhead() bool { return a.latestPublication().After(a.now.Add(maxClockSkew)) }

// takenBack says whether a CA whose time has not come is no reason to doubt the clock: it is dropped, or was, without ever having signed.
func (a *assessor) takenBack(ca *pki.Certificate) bool {
	if a.neverSigned(ca) || same(ca, a.d.Signer.Next) && a.madeAhead() {
		return true
	}
	dropped := slices.ContainsFunc(a.d.Signer.Previous, ca.Equal) && !a.wasActive(ca)
	return dropped && a.d.Roster != nil && !a.mayHaveSigned(ca) && !a.tooEarly(a.d.Signer.Active)
}

// madeAhead says whether next was made by a clock that was ahead, which the active CA does not say of itself, and can be dropped. Where it
// may have signed, as the active CA could not by that clock, there may be a leaf of it that is not seen yet.
func (a *assessor) madeAhead() bool {
	s := &a.d.Signer
	return a.abortable() && !a.mayHaveSigned(s.Next) && s.Next.NotBefore.After(a.now.Add(maxClockSkew)) && !a.tooEarly(s.Active)
}
