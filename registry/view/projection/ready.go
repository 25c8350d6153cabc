// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"time"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Reasons of conditions that do not come from a problem, a blocker, a stage or an action.
const (
	reasonUsable         = "Usable"
	reasonNotBlocked     = "NotBlocked"
	reasonHealthy        = "Healthy"
	reasonNoActiveCA     = "NoActiveCA"
	reasonNotPublished   = "AnchorNotPublished"
	reasonDomainProblems = "ProblemsInDomain"
)

// signerReady is true when the active CA can sign leaves that are accepted.
func (r *renderer) signerReady() verdict {
	s := &r.domain.Signer
	if v, bad := r.sourceBroken(&s.Object, secretRef(s.Name)); bad {
		return v
	}
	if s.Active == nil {
		return verdict{reason: reasonNoActiveCA, message: "no CA is active: the next one is being distributed"}
	}
	if v, bad := r.notValidNow(s.Active); bad {
		return v
	}
	if !r.published(s.Active) {
		return verdict{
			reason:  reasonNotPublished,
			message: "the active CA is not in the bundle " + r.domain.Bundle.Ref(),
		}
	}
	return verdict{status: true, reason: reasonUsable, message: "the active CA is valid and in the bundle", since: issued(s.Active)}
}

// leafReady is true when parties that trust the bundle accept the leaf.
func (r *renderer) leafReady(l *trust.Leaf, la *trust.LeafAssessment) verdict {
	if la.Usable {
		return verdict{
			status: true, reason: reasonUsable, since: issued(l.Certificate),
			message: "the certificate is valid and its signer is in the bundle",
		}
	}
	v := r.leafUnusable(l, la)
	if len(la.Waiting) > 0 {
		v.message += "; it is not reissued yet: " + blockersText(la.Waiting)
	}
	return v
}

func (r *renderer) leafUnusable(l *trust.Leaf, la *trust.LeafAssessment) verdict {
	if v, bad := r.sourceBroken(&l.Object, secretRef(l.Name)); bad {
		return v
	}
	if l.Certificate == nil {
		return verdict{reason: string(trust.ReasonUnparsable), message: secretRef(l.Name) + " holds no certificate"}
	}
	if v, bad := r.notValidNow(l.Certificate); bad {
		return v
	}
	if la.SignedBy == nil {
		return verdict{reason: string(trust.ReasonUnknownSigner), message: "no known CA has signed the certificate"}
	}
	return verdict{
		reason:  reasonNotPublished,
		message: "the CA that signed the certificate is not in the bundle " + r.domain.Bundle.Ref(),
	}
}

// bundleReady is true when the bundle can be read and holds the CA that signs.
func (r *renderer) bundleReady() verdict {
	b := &r.domain.Bundle
	if v, bad := r.sourceBroken(&b.Object, b.Ref()); bad {
		return v
	}
	if len(b.Anchors) == 0 {
		return verdict{reason: string(trust.ReasonEmptyBundle), message: b.Ref() + " holds no trust anchor"}
	}
	if r.domain.Signer.Problem != nil {
		// The signer shows its own problem. The bundle still serves the parties that verify leaves.
		return verdict{
			status: true, reason: reasonUsable,
			message: "the bundle can be read; which CA signs is not known while " + secretRef(r.domain.Signer.Name) + " is broken",
		}
	}
	needed := r.domain.Signer.Active
	if needed == nil {
		needed = r.assessment.Newest
	}
	if needed != nil && !r.published(needed) {
		return verdict{reason: reasonNotPublished, message: "the CA of " + secretRef(r.domain.Signer.Name) + " is not in the bundle"}
	}
	return verdict{status: true, reason: reasonUsable, message: "the bundle holds the CA that signs", since: issued(needed)}
}

// sourceBroken returns the problem of an object's source, if it has one.
func (r *renderer) sourceBroken(source *trust.Object, ref string) (verdict, bool) {
	switch {
	case source.Problem != nil:
		return verdict{reason: string(source.Problem.Reason), message: source.Problem.Message}, true
	case !source.Present:
		return verdict{reason: string(trust.ReasonMissing), message: ref + " does not exist"}, true
	}
	return verdict{}, false
}

func (r *renderer) notValidNow(c *pki.Certificate) (verdict, bool) {
	switch {
	case c.ValidAt(r.Now):
		return verdict{}, false
	case c.Expired(r.Now):
		return verdict{
			reason: string(trust.ReasonExpired), since: c.NotAfter,
			message: "the certificate expired at " + c.NotAfter.UTC().Format(time.RFC3339),
		}, true
	}
	return verdict{
		reason:  pki.ReasonNotYetValid,
		message: "the certificate is not valid before " + c.NotBefore.UTC().Format(time.RFC3339),
	}, true
}

func (r *renderer) published(ca *pki.Certificate) bool {
	return r.domain.Anchored(ca)
}

// issued returns the start of validity, the best approximation of when a certificate became usable.
func issued(c *pki.Certificate) time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.NotBefore
}
