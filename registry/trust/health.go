// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"time"

	"certrotation.dev/registry/pki"
)

// problems collects what is wrong with the objects of the domain: what could not be read, and what is readable but
// cannot do its work.
func (a *assessor) problems() []Problem {
	d := a.d
	var out []Problem
	add := func(p *Problem) {
		if p != nil {
			out = append(out, *p)
		}
	}
	add(a.clockProblem())
	add(unwritable(secret(d.Signer.Name), &d.Signer.Object))
	add(unwritable(configMap(d.Bundle.Name), &d.Bundle.Object))
	add(d.Signer.Problem)
	if d.Signer.Problem == nil {
		if outlived := a.outlivedProblem(); outlived != nil {
			add(outlived)
		} else {
			add(a.expired(secret(d.Signer.Name), d.Signer.Active, "a new CA is made and every leaf is reissued"))
		}
	}
	add(d.Bundle.Problem)
	add(d.RosterProblem)
	out = append(out, a.diverged()...)
	for i := range d.Leaves {
		l := &d.Leaves[i]
		add(unwritable(secret(l.Name), &l.Object))
		add(l.Problem)
		if l.Problem == nil && l.Certificate != nil && a.signers[l.Name] == nil {
			add(&Problem{
				Object: secret(l.Name), Reason: ReasonUnknownSigner,
				Message: fmt.Sprintf("is signed by no CA that this trust domain knows (issuer %s); it is reissued by %s",
					l.Certificate.Issuer, secret(d.Signer.Name)),
			})
		}
	}
	return append(out, d.Problems...)
}

func (a *assessor) expired(object string, c *pki.Certificate, next string) *Problem {
	if c == nil || !c.Expired(a.now) {
		return nil
	}
	return &Problem{
		Object: object, Reason: ReasonExpired,
		Message: fmt.Sprintf("expired at %s; %s", c.NotAfter.UTC().Format(time.RFC3339), next),
	}
}

// diverged are the members that trust other CAs than the domain says though no rotation is in flight: Secrets that are
// older than the processes, as after a restore of the cluster, or a process that came back from an older disk.
func (a *assessor) diverged() []Problem {
	if !a.rest {
		return nil
	}
	var out []Problem
	for _, p := range a.parties {
		for i := range p.Members {
			if m := &p.Members[i]; !p.VerifiesNothing && a.denies(p, m, a.d.Signer.Active) {
				out = append(out, Problem{
					Object: secret(a.d.Signer.Name), Reason: ReasonDiverged,
					Message: p.Name + "/" + m.Name + " " + divergence(a.d.Signer.Active),
				})
			}
		}
	}
	return out
}

// overdue says that a stage has lasted longer than the operator allows.
func (a *assessor) overdue(out *Assessment) []Problem {
	if out.StageDeadline.After(a.now) {
		return nil
	}
	return []Problem{{
		Object: secret(a.d.Signer.Name), Reason: ReasonOverdue,
		Message: fmt.Sprintf("the stage %s began at %s and was expected to end by %s; see the blockers",
			out.Stage, out.StageSince.UTC().Format(time.RFC3339), out.StageDeadline.UTC().Format(time.RFC3339)),
	}}
}

// maxClockSkew is how far a clock may be off before it is no ground for decisions. One that is ahead may be so only by as
// much as certificates are back-dated: others would not accept yet what it makes. It is allowed minClockSkew in any case,
// as far as a comparison of clocks may be wrong.
const (
	maxClockSkew = 10 * time.Minute
	minClockSkew = time.Minute
)

// mostAhead is how far the clock may be ahead.
func (a *assessor) mostAhead() time.Duration {
	most := min(maxClockSkew, a.d.Signer.Policy.Profile.Backdate)
	for i := range a.d.Leaves {
		most = min(most, a.d.Leaves[i].Policy.Profile.Backdate)
	}
	return max(most, minClockSkew)
}

// clockProblem says that the clock is not to be trusted: it is far from the API server's, or before the beginning of a
// CA of this domain. With such a clock nothing is made and nothing is retired: everything might look expired, or new. The
// message does not say what the clock says, so that it is the same at each look.
func (a *assessor) clockProblem() *Problem {
	s := &a.d.Signer
	object := secret(s.Name)
	if skew := a.d.ClockSkew; skew < -maxClockSkew || (skew > minClockSkew && skew > a.mostAhead()) {
		return &Problem{Object: object, Reason: ReasonClockSkewed, Message: fmt.Sprintf(
			"the controller's clock differs from the API server's by %s; nothing is issued or retired until the clocks agree",
			skew.Round(time.Second))}
	}
	if at := a.latestRecord(); at.After(a.now.Add(maxClockSkew)) {
		return &Problem{Object: object, Reason: ReasonClockSkewed, Message: fmt.Sprintf(
			"the clock is before %s, when something was recorded in this trust domain; nothing is issued or retired until it is not",
			at.UTC().Format(time.RFC3339))}
	}
	for _, ca := range append([]*pki.Certificate{s.Next, s.Active}, s.Previous...) {
		if ca != nil && ca.NotBefore.After(a.now) {
			return &Problem{Object: object, Reason: ReasonClockSkewed, Message: fmt.Sprintf(
				"the clock is before the beginning of %s; nothing is issued or retired until it is not", ca.Subject)}
		}
	}
	return nil
}

// latestRecord is the latest time that the controller has recorded of what it did.
func (a *assessor) latestRecord() time.Time {
	var latest time.Time
	if at, err := time.Parse(time.RFC3339, a.d.Signer.Annotations[AnnotationPromotedAt]); err == nil {
		latest = at
	}
	for f, at := range a.published {
		if a.inBundle[f] && at.After(latest) {
			latest = at
		}
	}
	if latest.After(a.now) {
		a.recheckAt(latest.Add(-maxClockSkew))
	}
	return latest
}
