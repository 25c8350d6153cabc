// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// delivered is what an action on the signer takes, nil if it takes nothing.
func (a *decision) delivered(kind ActionKind) *Issued {
	if kind == GenerateActive || kind == GenerateNext {
		return a.d.Signer.Issued
	}
	return nil
}

// nextWaits reports whether a new CA must wait for the rotation in flight. An issuer cannot wait: it signs with its new
// CA alone, so that leaves of the active one cannot be had any more. Then several former CAs are alive.
func (a *decision) nextWaits(out *Assessment) bool {
	return out.InFlight() && (a.d.Signer.Issued == nil || a.d.Signer.Next != nil)
}

// offers reports whether the issuer has delivered a pair of a CA that may sign the leaf, and not an older one than the
// leaf has.
func (a *decision) offers(l *Leaf, best *pki.Certificate) bool {
	made, has := l.Issued.Certificate, l.Certificate
	switch {
	case made == nil || same(made, has) || !made.AcceptedBy(best, a.d.Verifiers):
		return false
	case a.lacking(l) || !same(a.signers[l.Name], best):
		return true
	}
	return !made.NotBefore.Before(has.NotBefore)
}

// take returns the action that takes a leaf from its issuer, or why it must not be taken.
func (a *decision) take(l *Leaf, best *pki.Certificate) (*Action, []Blocker) {
	if fault := a.unfitIssued(l); fault != "" {
		return nil, []Blocker{a.notIssued(l, fault)}
	}
	if without := l.withoutPassword(); without != nil {
		return nil, without
	}
	proven := same(a.signers[l.Name], best)
	if a.unsettled(l) {
		if proven {
			return nil, nil
		}
		return nil, []Blocker{{Object: secret(l.Issued.Name), Reason: ReasonGracePeriod, Message: fmt.Sprintf(
			"was issued a moment ago, and is taken at %s: clocks of those who verify it may be behind", l.Issued.settledAt().UTC().Format(time.RFC3339))}}
	}
	if a.lacking(l) {
		proven = a.established(best)
	}
	return withLeafStores(&Action{
		Kind: IssueLeaf, ObjectKind: SecretKind, Object: l.Name, ResourceVersion: l.ResourceVersion,
		From: l.Issued, Authority: best.Fingerprint, Anchors: a.anchorsBeside(l), Keystores: l.Keystores, Urgent: true, Irreversible: !proven,
		Annotations: a.answers(&l.Object, a.rotateRequest(&l.Object)),
		Reason:      fmt.Sprintf("%s has issued it in %s", a.d.Issuer, secret(l.Issued.Name)),
	}, l), nil
}

// unsettled reports whether verifiers may find a pair too young, and refuse it in place of what is presented now.
func (a *decision) unsettled(l *Leaf) bool {
	return !a.lacking(l) && l.Issued.settledAt().After(a.now)
}

// request returns the action that asks the issuer for a leaf, and what is waited for.
func (a *decision) request(l *Leaf, best *pki.Certificate, reason string) (*Action, []Blocker) {
	switch {
	case l.Issued.Problem != nil:
		// What is wrong is said once (problems).
		return nil, nil
	case !l.Issued.Present:
		return nil, []Blocker{a.notIssued(l, fmt.Sprintf("does not exist: %s has not issued it yet", a.d.Issuer))}
	case !a.issuerSignsWith(best):
		return nil, append(a.heldBack(l), a.notIssued(l, fmt.Sprintf("cannot be had of %s any more: %s signs with another CA", best.Subject, a.d.Issuer)))
	}
	ask := &Action{
		Kind: RequestIssuance, ObjectKind: SecretKind, Object: l.Issued.Name, ResourceVersion: l.Issued.ResourceVersion,
		Urgent: a.lacking(l) || a.rotationRequested(&l.Object), Reason: reason,
	}
	return ask, []Blocker{a.notIssued(l, fmt.Sprintf("was not issued anew by %s yet: %s", a.d.Issuer, reason))}
}

// unfitIssued says why what was issued must not be taken, whatever CA signed it, "" if it may.
func (a *decision) unfitIssued(l *Leaf) string {
	c := l.Issued.Certificate
	if c.IsCA {
		return c.Subject + " is a certificate authority and no leaf: issue it without isCA"
	}
	if fault := a.unusable(c, l.Policy.Profile); fault != "" {
		return fault + ": correct what " + a.d.Issuer + " is asked for"
	}
	return ""
}

// heldBack returns the blocker of a certificate that was issued by a CA that may not sign yet, none if there is none.
func (a *decision) heldBack(l *Leaf) []Blocker {
	if l.Issued == nil {
		return nil
	}
	made := l.Issued.Certificate
	if made == nil || same(made, l.Certificate) || a.signers[l.Name] != nil && made.SignedBy(a.signers[l.Name]) {
		return nil
	}
	ca := a.signerAmong(made, append(slices.Clone(a.authorities), a.authorityOfIssuer()...))
	if ca == nil {
		return []Blocker{a.notIssued(l, fmt.Sprintf("is issued by %s, which this trust domain does not know: issue it by the CA of the trust domain", made.Issuer))}
	}
	_, blockers := a.maySign(ca, l.Name)
	return append(blockers, Blocker{
		Object: secret(l.Issued.Name), Reason: ReasonHeld,
		Message: fmt.Sprintf("was issued by %s before its verifiers have loaded that CA: it is taken into %s when they have", ca.Subject, secret(l.Name)),
	})
}

func (a *decision) authorityOfIssuer() []*pki.Certificate {
	if s := &a.d.Signer; s.Issued != nil && s.Issued.Certificate != nil {
		return []*pki.Certificate{s.Issued.Certificate}
	}
	return nil
}

func (a *decision) notIssued(l *Leaf, message string) Blocker {
	return Blocker{Object: secret(l.Issued.Name), Reason: ReasonNotIssued, Message: message}
}

// asked separates what the issuer is asked for from other actions on leaves, and adds what is asked of it for the signer.
func (a *decision) asked(issues []Action) (asked, others []Action) {
	for i := range issues {
		if issues[i].Kind == RequestIssuance {
			asked = append(asked, issues[i])
		} else {
			others = append(others, issues[i])
		}
	}
	s := &a.d.Signer
	if s.Issued != nil && s.Issued.Present && a.rotationRequested(&s.Object) && same(s.Active, s.Issued.Certificate) && a.stage == Stable {
		asked = append(asked, Action{
			Kind: RequestIssuance, ObjectKind: SecretKind, Object: s.Issued.Name, ResourceVersion: s.Issued.ResourceVersion,
			Urgent: true, Reason: "the rotation of " + secret(s.Name) + " was requested" + a.requestText(&s.Object),
		})
	}
	return asked, others
}

func (a *decision) byIssuer() string {
	if a.d.Issuer == "" {
		return ""
	}
	return ", by " + a.d.Issuer
}
