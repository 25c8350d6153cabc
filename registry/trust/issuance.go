// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// refresh is when a certificate is to be renewed at the latest: at a part of its validity, or some time before its end.
// Where the part was over when the certificate was made, because it is back-dated by more, it counts from then. Where the
// certificate was given a shorter life than the policy says, because of its signer, the time before its end is shorter by
// the same part. It is never due when it is made: it would be made over and over.
func refresh(c *pki.Certificate, p Policy) time.Time {
	life, made := c.NotAfter.Sub(c.NotBefore), c.NotBefore.Add(p.Profile.Backdate)
	at := c.NotBefore.Add(life / 100 * time.Duration(p.RenewAtPercent))
	if !at.After(made) {
		at = made.Add(c.NotAfter.Sub(made) / 100 * time.Duration(p.RenewAtPercent))
	}
	renewBefore := p.RenewBefore
	if full := p.Profile.Validity + p.Profile.Backdate; life < full {
		renewBefore = time.Duration(float64(renewBefore) * float64(life) / float64(full))
	}
	if before := c.NotAfter.Add(-renewBefore); renewBefore > 0 && before.After(made) && before.Before(at) {
		return before
	}
	return at
}

// due is when a certificate is to be renewed: earlier than refresh by the object's own share of the jitter, so that
// certificates that were made together are not renewed together. The share depends on nothing but the object's name.
// It never takes more than half of the time until refresh: a certificate that is due when it is made is made over and over.
func (a *assessor) due(o *Object, c *pki.Certificate, p Policy) time.Time {
	if p.JitterPercent == 0 {
		return refresh(c, p)
	}
	h := fnv.New32a()
	// A hash never fails to be written to.
	_, _ = h.Write([]byte(a.d.Namespace + "/" + o.Name))
	const shares = 1000
	at := refresh(c, p)
	spread := c.NotAfter.Sub(c.NotBefore) / 100 * time.Duration(p.JitterPercent)
	spread = max(0, min(spread, at.Sub(c.NotBefore.Add(p.Profile.Backdate))/2))
	return at.Add(-spread / shares * time.Duration(h.Sum32()%shares))
}

// policyDifference says how a certificate differs from the profile of its successor, "" if it does not. Validity is no
// difference: it counts from the next certificate on.
func policyDifference(c *pki.Certificate, want pki.Profile) string {
	if extra, missing := hostDifference(c, want); len(extra)+len(missing) > 0 {
		return fmt.Sprintf("its names differ from the configuration (missing %q, not required %q)", missing, extra)
	}
	switch {
	case want.Key != "" && c.KeyAlgorithm != want.Key:
		return keyDifference(c, want)
	case c.CommonName != want.CommonName || !sameSet(c.Organizations, want.Organizations):
		return fmt.Sprintf("its subject %s differs from the configuration (common name %q, organizations %q)", c.Subject, want.CommonName, want.Organizations)
	case !sameSet(c.Usages, want.Usages):
		return fmt.Sprintf("its usages %q differ from the configuration %q", c.Usages, want.Usages)
	}
	return ""
}

func dueSince(at time.Time) string {
	return "it is due for renewal since " + at.UTC().Format(time.RFC3339)
}

func keyDifference(c *pki.Certificate, want pki.Profile) string {
	return fmt.Sprintf("its key is %s and the configuration says %s", c.KeyAlgorithm, want.Key)
}

func sameSet[T ~string](a, b []T) bool {
	return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
}

// paceWindow is the time in which Domain.ReissuePerMinute leaves may be reissued.
const paceWindow = time.Minute

// pace holds back what can wait if many leaves were reissued in the last minute, so that a rotation of thousands of
// leaves is no herd. What is missing, expired or asked for is never held back, nor is anything when a key is compromised.
// A leaf that claims to be issued further ahead than any clock may be off says nothing about the last minute.
func (a *assessor) pace() {
	budget := a.d.ReissuePerMinute
	if budget <= 0 || a.anyCompromised() {
		return
	}
	next := time.Time{}
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if l.Certificate == nil || l.issuedAt().After(a.now.Add(maxClockSkew)) {
			continue
		}
		if free := l.issuedAt().Add(paceWindow); free.After(a.now) {
			budget--
			if next.IsZero() || free.Before(next) {
				next = free
			}
		}
	}
	kept := a.issues[:0]
	for _, issue := range a.issues {
		if !issue.Urgent {
			if budget <= 0 {
				a.paced++
				continue
			}
			budget--
		}
		kept = append(kept, issue)
	}
	a.issues = kept
	if a.paced > 0 {
		a.recheckAt(next)
	}
}
