// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// maySign reports whether a CA may sign a leaf (TrustBeforeUse), and the blockers.
func (a *decision) maySign(ca *pki.Certificate, leaf string) (bool, []Blocker) {
	if !a.anchored(ca) {
		return false, []Blocker{{
			Object: a.d.Bundle.Ref(), Reason: ReasonAnchorNotLoaded,
			Message: "the bundle does not hold " + a.d.AnchorOf(ca).Subject + " yet",
		}}
	}
	if unfit := a.unfitFor(ca, leaf); len(unfit) > 0 {
		return false, unfit
	}
	if a.established(ca) {
		blockers := a.denied(ca, leaf)
		return len(blockers) == 0, blockers
	}
	blockers := slices.Concat(a.unverified(leaf), a.withoutAnchor(ca), a.waitsForTrust(a.verifiers[leaf], ca))
	return len(blockers) == 0, blockers
}

// denied returns the verifiers of a leaf that were observed not to trust a CA, although all should.
func (a *decision) denied(ca *pki.Certificate, leaf string) []Blocker {
	var blockers []Blocker
	for p, m := range each(a.verifiers[leaf]) {
		if a.denies(p, m, ca) {
			blockers = append(blockers, p.blocker(m, proof{reason: ReasonDiverged, message: divergence(ca)}))
		}
	}
	return blockers
}

func divergence(ca *pki.Certificate) string {
	return fmt.Sprintf("was seen to trust other CAs than %s, which every member should have loaded: make it load the bundle, "+
		"or restore what it trusts if the Secrets are older than its process", ca.Subject)
}

// bestSigner returns the newest CA that may sign a leaf, nil if none may, and the blockers of the newest candidate.
func (a *decision) bestSigner(leaf string) (*pki.Certificate, []Blocker) {
	var first []Blocker
	for i, ca := range a.candidates() {
		ok, blockers := a.maySign(ca, leaf)
		if ok {
			return ca, first
		}
		if i == 0 {
			first = blockers
		}
	}
	return nil, first
}

// issue returns the action that issues a leaf if it should and may be issued now. Otherwise it returns the blockers,
// or neither.
func (a *decision) issue(l *Leaf) (*Action, []Blocker) {
	switch {
	case l.Problem != nil:
		return nil, nil
	case l.Unnamed:
		return nil, a.unnamed(l)
	case unwritable("", &l.Object) != nil:
		return nil, nil
	}
	best, against := a.bestSigner(l.Name)
	if l.Issued != nil && best != nil && a.offers(l, best) && (!a.compromised(best) || a.lacking(l)) {
		return a.take(l, best)
	}
	reason := a.wants(l, best)
	current, subject := a.signers[l.Name], "an unknown CA"
	if current != nil {
		subject = current.Subject
	}
	switch {
	case best == nil && reason != "":
		return nil, append(against, Blocker{
			Object: secret(l.Name), Reason: ReasonNoUsableSigner,
			Message: reason + ", and no CA may sign it now",
		})
	case best == nil:
		return nil, append(a.waitsToLeave(current, against), a.heldBack(l)...)
	case reason == "" && a.olderThan(current, best):
		reason = fmt.Sprintf("it is signed by %s, which is being replaced", subject)
	case reason == "":
		return nil, append(a.waitsToLeave(current, against), a.heldBack(l)...)
	}
	if without := l.withoutPassword(); without != nil {
		return nil, append(against, without...)
	}
	missing := a.lacking(l)
	if a.compromised(best) && !missing {
		return nil, a.waitsToLeave(current, against)
	}
	if l.Issued != nil {
		return a.request(l, best, reason)
	}
	profile := l.Policy.Profile
	if !same(best, a.newest()) && !a.compromised(best) {
		profile.Validity = min(profile.Validity, replacedLeafLife)
	}
	if left := a.acceptedUntil(best, l.Name).Sub(a.now); left < profile.Validity {
		profile.Validity = left
	}
	// Verifiers accept the CA of a valid leaf. One that is not valid now shows nothing of the kind.
	proven := same(current, best)
	if missing {
		proven = a.established(best)
	}
	issue := withLeafStores(&Action{
		Urgent: missing || a.rotationRequested(&l.Object), Annotations: a.answers(&l.Object, a.rotateRequest(&l.Object)),
		Kind: IssueLeaf, ObjectKind: SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion,
		Profile: profile, Authority: best.Fingerprint, Anchors: a.anchorsBeside(l), Keystores: l.Keystores, Reason: reason,
		// A leaf that is signed because of evidence cuts verifiers off if the evidence is stale.
		Irreversible: !proven,
	}, l)
	return issue, nil
}

// lacking reports whether a leaf has no certificate that is valid now.
func (a *facts) lacking(l *Leaf) bool {
	return l.Certificate == nil || l.Certificate.Expired(a.now) || a.early(l.Certificate)
}

// unnamed returns the blocker of a leaf that the configuration does not name: it is live, and it is not reissued.
func (a *decision) unnamed(l *Leaf) []Blocker {
	if !a.live(l) || same(a.signers[l.Name], a.newest()) {
		return nil
	}
	return []Blocker{{
		Object: secret(l.Name), Reason: ReasonUnnamed,
		Message: "is a live leaf of this trust domain that the configuration does not name, so it is not reissued: " +
			"name it again, or delete it when no process presents it any more",
	}}
}

// replacedLeafLife is the longest life of a leaf of a CA that is being replaced. So the CA is not needed for much
// longer than its replacement takes. The leaf is renewed in time if the rotation is held up. A compromised CA renews
// nothing, so leaves that it restores get their full life.
const replacedLeafLife = 7 * 24 * time.Hour

// waitsToLeave returns the blockers against the newest CA, none if it has signed the leaf already.
func (a *decision) waitsToLeave(current *pki.Certificate, against []Blocker) []Blocker {
	if newest := a.newest(); newest == nil || same(current, newest) {
		return nil
	}
	return against
}

// wants says why a leaf needs a new certificate, no matter from which CA, "" if it does not. A leaf that ends with
// its signer gains no time from a renewal: it would be due again at once, over and over.
func (a *decision) wants(l *Leaf, best *pki.Certificate) string {
	c := l.Certificate
	switch {
	case !l.Present || c == nil:
		return "it does not exist"
	case c.Expired(a.now):
		return fmt.Sprintf("it expired at %s", c.NotAfter.UTC().Format(time.RFC3339))
	case a.early(c):
		return fmt.Sprintf("it is not valid before %s", c.NotBefore.UTC().Format(time.RFC3339))
	case a.rotationRequested(&l.Object):
		return "its rotation was requested" + a.requestText(&l.Object)
	case l.Issued == nil && !a.due(&l.Object, c, l.Policy).After(a.now) && (best == nil || a.endOf(best).After(c.NotAfter)):
		return dueSince(a.due(&l.Object, c, l.Policy))
	}
	if ca := a.signers[l.Name]; ca != nil && !c.Identifies(ca, a.d.Verifiers) {
		return fmt.Sprintf("it identifies another certificate of its issuer than %s has now, by which some verifiers do not find it", ca.Subject)
	}
	if newest := a.newest(); newest != nil && c.SignedBy(newest) && a.olderThanTwin(l, newest) && a.provesByRenewal(l) {
		return fmt.Sprintf("its renewal is to show that its holder has loaded %s, which was renewed with its key", newest.Subject)
	}
	if l.Issued != nil {
		// What is issued is judged before it is taken.
		return ""
	}
	return policyDifference(c, l.Policy.Profile)
}

// provesByRenewal reports whether the renewal of a leaf is the evidence of a member.
func (a *decision) provesByRenewal(l *Leaf) bool {
	return slices.ContainsFunc(a.parties, func(p *Party) bool { return p.Kind.traits().basis == onRenewal && p.holds(l.Name) })
}

// paceWindow is the time in which Domain.ReissuePerMinute leaves may be reissued.
const paceWindow = time.Minute

// turn are the leaves to issue now. waiting is how many more wait, and next when one of them may be issued.
type turn struct {
	actions []Action
	waiting int
	next    time.Time
}

// pace holds back non-urgent leaves if many were reissued in the last minute, to spread a rotation of thousands of
// leaves. It never holds back leaves that are missing, expired or requested, nor any leaf while a key is compromised.
// A leaf whose issue time is further ahead than any clock may be says nothing about the last minute.
func (a *decision) pace(due []Action) turn {
	budget := a.d.ReissuePerMinute
	if budget <= 0 || a.anyCompromised() {
		return turn{actions: due}
	}
	free := moments{now: a.now}
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if l.Certificate == nil || a.ahead(l.issuedAt()) {
			continue
		}
		if at := l.issuedAt().Add(paceWindow); at.After(a.now) {
			budget--
			free.add(at)
		}
	}
	var out turn
	for _, issue := range due {
		if !issue.Urgent {
			if budget <= 0 {
				out.waiting, out.next = out.waiting+1, free.next
				continue
			}
			budget--
		}
		out.actions = append(out.actions, issue)
	}
	return out
}
