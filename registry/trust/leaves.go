// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

func (a *assessor) assessLeaves() []LeafAssessment {
	out := make([]LeafAssessment, 0, len(a.d.Leaves))
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		la := LeafAssessment{Name: l.Name, SignedBy: a.signers[l.Name]}
		la.Trusted, la.Verifiers = a.members(a.verifiers[l.Name], la.SignedBy)
		if la.SignedBy != nil {
			la.SignedBySlot = a.slot(la.SignedBy)
		}
		if l.Certificate != nil {
			la.Due = a.due(&l.Object, l.Certificate, l.Policy)
			a.recheckAt(la.Due)
			a.recheckAt(l.Certificate.NotBefore)
			a.recheckEnd(l.Certificate)
			la.Usable = l.Problem == nil && l.Certificate.ValidAt(a.now) &&
				la.SignedBy != nil && a.inBundle[la.SignedBy.Fingerprint]
		}
		la.Unnamed = l.Unnamed
		issue, waiting := a.issue(l)
		if issue != nil {
			a.issues = append(a.issues, *issue)
		}
		la.Waiting = waiting
		out = append(out, la)
	}
	return out
}

// issue says whether a leaf should be issued now and may be: an action, or what stands against it, or neither.
func (a *assessor) issue(l *Leaf) (*Action, []Blocker) {
	if l.Problem != nil || unwritable("", &l.Object) != nil {
		return nil, nil
	}
	if l.Unnamed {
		return nil, a.unnamed(l)
	}
	best, against := a.bestSigner(l.Name)
	reason := a.wants(l, best)
	current := a.signers[l.Name]
	switch {
	case best == nil && reason != "":
		return nil, append(against, Blocker{
			Object: secret(l.Name), Reason: ReasonNoUsableSigner,
			Message: reason + ", and no CA may sign it now",
		})
	case best == nil:
		return nil, a.waitsToLeave(current, against)
	case reason == "" && a.olderThan(current, best):
		reason = fmt.Sprintf("it is signed by %s, which is being replaced", subjectOr(current, "an unknown CA"))
	case reason == "":
		return nil, a.waitsToLeave(current, against)
	}
	missing := l.Certificate == nil || l.Certificate.Expired(a.now)
	if a.compromised(best) && !missing {
		return nil, a.waitsToLeave(current, against)
	}
	profile := l.Policy.Profile
	if !same(best, a.newest()) && !a.compromised(best) {
		profile.Validity = min(profile.Validity, replacedLeafLife)
	}
	if left := a.acceptedUntil(best, l.Name).Sub(a.now); left < profile.Validity {
		profile.Validity = left
	}
	issue := &Action{
		Urgent: missing || a.rotationRequested(&l.Object), Annotations: a.answers(&l.Object, a.rotateRequest(&l.Object)),
		Kind: IssueLeaf, ObjectKind: SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion,
		Profile: profile, Authority: best.Fingerprint, Reason: reason,
		// Whoever verifies a leaf that is signed because of evidence is cut off if that has gone stale meanwhile.
		Irreversible: !same(current, best) && (!missing || !a.established(best)),
	}
	return issue, nil
}

// unnamed says what is to become of a leaf that the configuration does not name: it is live, and nobody reissues it.
func (a *assessor) unnamed(l *Leaf) []Blocker {
	if !a.live(l) || same(a.signers[l.Name], a.newest()) {
		return nil
	}
	return []Blocker{{
		Object: secret(l.Name), Reason: ReasonUnnamed,
		Message: "is a live leaf of this trust domain that the configuration does not name, so it is not reissued: " +
			"name it again, or delete it when nobody presents it any more",
	}}
}

// replacedLeafLife is how long a leaf of a CA that is being replaced lives at most, so that such a CA is not needed for
// much longer than its replacement takes. It is renewed in time if the rotation is held up. A compromised CA renews
// nothing, so what it has to restore must last.
const replacedLeafLife = 7 * 24 * time.Hour

// waitsToLeave are the blockers against the newest CA, if the leaf is not signed by it already.
func (a *assessor) waitsToLeave(current *pki.Certificate, against []Blocker) []Blocker {
	if newest := a.newest(); newest == nil || same(current, newest) {
		return nil
	}
	return against
}

// wants says why a leaf needs a new certificate whoever signs it, "" if it does not. A leaf that ends with its signer
// gains no time from a renewal: it would be due again at once, over and over.
func (a *assessor) wants(l *Leaf, best *pki.Certificate) string {
	c := l.Certificate
	switch {
	case !l.Present || c == nil:
		return "it does not exist"
	case c.Expired(a.now):
		return fmt.Sprintf("it expired at %s", c.NotAfter.UTC().Format(time.RFC3339))
	case a.rotationRequested(&l.Object):
		return "its rotation was requested" + a.requestText(&l.Object)
	case !a.due(&l.Object, c, l.Policy).After(a.now) && (best == nil || best.NotAfter.After(c.NotAfter)):
		return dueSince(a.due(&l.Object, c, l.Policy))
	}
	return policyDifference(c, l.Policy.Profile)
}

// hostDifference compares the subject alternative names of a certificate with those that it should have. An IP address
// that a certificate repeats as a DNS name, as library-go writes it, is no difference.
func hostDifference(c *pki.Certificate, want pki.Profile) (extra, missing []string) {
	has := hosts(c.DNSNames, c.IPAddresses)
	should := hosts(want.DNSNames, want.IPAddresses)
	for _, h := range has {
		if !slices.Contains(should, h) {
			extra = append(extra, h)
		}
	}
	for _, h := range should {
		if !slices.Contains(has, h) {
			missing = append(missing, h)
		}
	}
	return extra, missing
}

func hosts(names, addresses []string) []string {
	all := slices.Concat(names, addresses)
	slices.Sort(all)
	return slices.Compact(all)
}

func subjectOr(c *pki.Certificate, unknown string) string {
	if c == nil {
		return unknown
	}
	return c.Subject
}
