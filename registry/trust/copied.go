// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// CopyAssessment says whether a copy of a bundle or a leaf may be brought up to date. Whoever reads a copy takes part in
// the protocol as whoever reads the source does, so what may not happen to the source is not spread either.
type CopyAssessment struct {
	// Blockers say why the copy has to stay as it is; empty if it may be written.
	Blockers []Blocker
	// Anchors that the copy of a bundle has to hold, in order. Empty for a leaf, and if there are blockers.
	Anchors []*pki.Certificate
	// Kept are the anchors among them that the bundle does not hold any more, and who needs them.
	Kept []KeptAnchor
	// Recheck is the next moment at which time alone changes the assessment, zero if never.
	Recheck time.Time
}

// KeptAnchor is one that a copy does not lose though its bundle has.
type KeptAnchor struct {
	Certificate *pki.Certificate
	NeededBy    []string
}

// AssessBundleCopy says what the copy of the domain's bundle has to hold that holds the anchors held now. It gains every
// anchor of the bundle at once. It loses one only if the bundle could lose it now (AnchorInUse), so that a bundle that
// somebody cut down, or that came back from a backup, takes nothing with it. Without a bundle to copy it stays as it is
// (NeverEmpty).
func AssessBundleCopy(d *Domain, held []*pki.Certificate, now time.Time) *CopyAssessment {
	object := configMap(d.Bundle.Name)
	switch {
	case d.Bundle.Problem != nil:
		return holdCopy(Blocker{Object: object, Reason: ReasonObjectProblem, Message: d.Bundle.Problem.Message})
	case !d.Bundle.Present || len(d.Bundle.Anchors) == 0:
		return holdCopy(Blocker{Object: object, Reason: ReasonMissing, Message: "does not exist or is empty; the copy keeps what it has until it is rebuilt"})
	}
	whole := *d
	whole.Bundle.Anchors = slices.Clone(d.Bundle.Anchors)
	for _, ca := range held {
		if !slices.ContainsFunc(whole.Bundle.Anchors, ca.Equal) {
			whole.Bundle.Anchors = append(whole.Bundle.Anchors, ca)
		}
	}
	out := &CopyAssessment{Anchors: slices.Clone(d.Bundle.Anchors)}
	lost := whole.Bundle.Anchors[len(d.Bundle.Anchors):]
	if len(lost) == 0 {
		return out
	}
	a := newAssessor(&whole, now)
	undelivered := a.undelivered()
	for _, ca := range lost {
		if users := a.neededBy(ca, undelivered); len(users) > 0 {
			out.Anchors = append(out.Anchors, ca)
			out.Kept = append(out.Kept, KeptAnchor{Certificate: ca, NeededBy: users})
			a.recheckEnd(ca)
		}
	}
	out.Recheck = a.recheck
	return out
}

// AssessLeafCopy says whether the content of a leaf may be copied. What the controller issued always may. A leaf that
// somebody else put there is held to the same rules first: everybody who verifies it has loaded the CA that signed it
// (TrustBeforeUse), and it is a leaf and ends within its signer (LeafWithinSigner).
func AssessLeafCopy(d *Domain, name string, now time.Time) *CopyAssessment {
	a := newAssessor(d, now)
	object := secret(name)
	hold := func(reason Reason, message string) *CopyAssessment {
		out := holdCopy(Blocker{Object: object, Reason: reason, Message: message})
		out.Recheck = a.recheck
		return out
	}
	l := a.leaves[name]
	switch {
	case l == nil || !l.Present:
		return hold(ReasonMissing, "does not exist; the copy keeps what it has until it is issued")
	case l.Problem != nil:
		return hold(l.Problem.Reason, l.Problem.Message)
	case !Consents(l.Annotations, d.Configuration):
		return hold(ReasonNotAdopted, "does not consent to be copied; name it as a leaf of the trust domain and adopt it")
	case l.Certificate == nil:
		return hold(ReasonUnparsable, "cannot be read; restore it, or delete the Secret to have it reissued")
	case l.Certificate.IsCA:
		return hold(ReasonUnknownSigner, fmt.Sprintf("%s is a certificate authority and no leaf; delete the Secret to have it reissued", l.Certificate.Subject))
	case !l.Certificate.ValidAt(now):
		a.recheckAt(l.Certificate.NotBefore)
		return hold(ReasonExpired, fmt.Sprintf("is valid from %s to %s only", l.Certificate.NotBefore.UTC().Format(time.RFC3339),
			l.Certificate.NotAfter.UTC().Format(time.RFC3339)))
	}
	ca := a.signers[name]
	if ca == nil {
		return hold(ReasonUnknownSigner, fmt.Sprintf("is signed by no CA that this trust domain knows (issuer %s)", l.Certificate.Issuer))
	}
	if l.Certificate.NotAfter.After(ca.NotAfter) {
		return hold(ReasonUnknownSigner, fmt.Sprintf("ends after its signer %s; delete the Secret to have it reissued", ca.Subject))
	}
	_, blockers := a.maySign(ca, name)
	return &CopyAssessment{Blockers: blockers, Recheck: a.recheck}
}

func holdCopy(b Blocker) *CopyAssessment { return &CopyAssessment{Blockers: []Blocker{b}} }
