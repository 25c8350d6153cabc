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
	add(d.Signer.Problem)
	if d.Signer.Problem == nil {
		add(a.expired(secret(d.Signer.Name), d.Signer.Active, "a new CA is made and every leaf is reissued"))
	}
	add(d.Bundle.Problem)
	for i := range d.Leaves {
		l := &d.Leaves[i]
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
