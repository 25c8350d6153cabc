// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// proof is whether there is evidence of something. reason, message and until are set only if there is none.
type proof struct {
	proven  bool
	reason  Reason
	message string
	// lapsed says that there was evidence that was not renewed.
	lapsed bool
	// until is when time alone changes the proof, zero if never.
	until time.Time
}

var proven = proof{proven: true}

// lacking are the members without evidence of something. until is when time alone first changes that, zero if never.
type lacking struct {
	blockers []Blocker
	until    time.Time
}

func (l *lacking) add(p *Party, m *Member, v proof) {
	if v.proven {
		return
	}
	l.blockers = append(l.blockers, p.blocker(m, v))
	if !v.until.IsZero() && (l.until.IsZero() || v.until.Before(l.until)) {
		l.until = v.until
	}
}

// trusts returns whether there is evidence that a member has loaded the anchor of ca.
func (a *assessor) trusts(p *Party, m *Member, ca *pki.Certificate) proof {
	if a.waiver(p, m) != nil && !a.seenWithout(p, m, ca) {
		return proven
	}
	switch p.Kind {
	case None:
		return proven
	case GracePeriod:
		return a.trustsByGrace(p, m, ca)
	case Renewed:
		return a.trustsByRenewal(p, m, ca)
	case TLSProbe, Acknowledgement, StaticPodRevision, WorkloadRollout, Mounted, CABundle:
		return a.trustsByObservation(p, m, ca)
	}
	return proof{reason: ReasonNotObserved, message: fmt.Sprintf("has the unknown evidence kind %q", p.Kind)}
}

func (a *assessor) trustsByGrace(p *Party, m *Member, ca *pki.Certificate) proof {
	published, ok := a.published[ca.Fingerprint]
	if !ok || !a.inBundle[ca.Fingerprint] {
		return proof{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf("waits for the publication of %s", ca.Subject)}
	}
	// No anchor was published before it was made, no matter what is recorded.
	if made := ca.NotBefore.Add(a.d.Signer.Policy.Profile.Backdate); made.After(published) {
		published = made
	}
	// A member that mounts a deleted Secret loads nothing new until the Secret is back. If no CA can bring it back
	// before its holder trusts another one, only the grace period is left.
	for _, name := range m.Holds {
		l := a.leaves[name]
		if (l == nil || !l.Present) && slices.ContainsFunc(a.d.Signer.slots(), a.bringsBack) {
			return proof{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf("holds Secret/%s, which does not exist, so it has loaded nothing since", name)}
		}
		if l != nil && l.Created.After(published) {
			published = l.Created
		}
	}
	return a.waitsFor(p, published, "is in its grace period for "+ca.Subject+" until ", "")
}

// bringsBack reports whether a CA can reissue what is lost before its verifiers load another one.
func (a *assessor) bringsBack(ca *pki.Certificate) bool { return a.usable(ca) && a.established(ca) }

// waitsFor is proven once the grace of a party, and the clock skew, have passed since a time. The message is text,
// the end of the wait, and rest.
func (a *assessor) waitsFor(p *Party, since time.Time, text, rest string) proof {
	until := since.Add(p.Grace + a.d.ClockSkew.Abs())
	if !until.After(a.now) {
		return proven
	}
	return proof{reason: ReasonGracePeriod, until: until, message: text + until.UTC().Format(time.RFC3339) + rest}
}

// trustsByRenewal takes renewed leaves for evidence: the leaves that a member holds are signed by ca, and presented.
func (a *assessor) trustsByRenewal(p *Party, m *Member, ca *pki.Certificate) proof {
	for _, name := range m.Holds {
		l := a.leaves[name]
		if l == nil || l.Certificate == nil || !l.Certificate.SignedBy(ca) {
			return proof{
				reason:  ReasonAnchorNotLoaded,
				message: fmt.Sprintf("still holds Secret/%s, which is not signed by %s", name, ca.Subject),
			}
		}
		if a.olderThanTwin(l, ca) {
			return proof{
				reason:  ReasonAnchorNotLoaded,
				message: fmt.Sprintf("still holds Secret/%s, which was issued before %s was published", name, ca.Subject),
			}
		}
		if v := a.deliversAfter(p, l); !v.proven {
			return v
		}
	}
	if len(m.Holds) == 0 {
		return proof{reason: ReasonNotObserved, message: "holds no leaf whose renewal could be evidence"}
	}
	return proven
}

// olderThanTwin reports whether a leaf proves nothing about a CA, as it was issued before the CA was renewed with the
// same key.
func (a *assessor) olderThanTwin(l *Leaf, ca *pki.Certificate) bool {
	return len(a.twins(ca)) > 0 && l.issuedAt().Before(a.published[ca.Fingerprint])
}

// deliversAfter counts a leaf as presented some time after it was written. That is the operator's assumption, so
// without a configured time the write proves nothing.
func (a *assessor) deliversAfter(p *Party, l *Leaf) proof {
	if p.Grace <= 0 {
		return proof{reason: ReasonNotObserved, message: fmt.Sprintf(
			"is not observed, and no delay is configured after which Secret/%s counts as presented", l.Name)}
	}
	return a.waitsFor(p, l.issuedAt(), "counts as presenting Secret/"+l.Name+" from ", " on")
}

// issuedAt returns when a leaf was issued, never too early, because a grace period is a lower bound.
func (l *Leaf) issuedAt() time.Time {
	start := l.Certificate.NotBefore.Add(l.Policy.Profile.Backdate)
	if t, err := time.Parse(time.RFC3339, l.Annotations[AnnotationIssuedAt]); err == nil && t.After(start) {
		return t
	}
	return start
}

func (a *assessor) waitsForTrust(parties []*Party, ca *pki.Certificate) []Blocker {
	var blockers []Blocker
	for _, p := range parties {
		blockers = append(blockers, a.untrusting(p, ca).blockers...)
	}
	return blockers
}

// untrusting lists the members of one party without evidence of ca.
func (a *assessor) untrusting(p *Party, ca *pki.Certificate) lacking {
	key := trustKey{p, ca.Fingerprint}
	if known, ok := a.trust[key]; ok {
		return known
	}
	var out lacking
	if !p.VerifiesNothing {
		out.blockers = p.unlisted()
	}
	for i := range p.Members {
		m := &p.Members[i]
		if p.VerifiesNothing || a.idle[m] {
			continue
		}
		out.add(p, m, a.trusts(p, m, ca))
	}
	a.trust[key] = out
	return out
}

// blocker returns the blocker of a member. If the member counts only by the roster, the message says so, with the
// ways out.
func (p *Party) blocker(m *Member, v proof) Blocker {
	message := v.message + m.Pod.hint()
	if p.recorded {
		message += "; it counts as it did when the rotation began: configure it so again, or end its wait with `kubectl certrotation waive`"
		switch {
		case m.Pod != nil:
			message += ", or delete the pod, so that it is proven to be gone"
		case p.Kind == CABundle:
			message += ", or delete the object, so that it is proven to be gone"
		case m.Instance != "":
			message += ", or remove its machine, so that it is proven to be gone; if it is gone and its node stays, release it in releasedMembers when the rotation is over"
		}
	}
	return Blocker{Party: p.Name, Member: m.Name, Reason: v.reason, Message: message}
}

// waitsForAll lists the blockers of a promotion: leaves that the CA cannot sign, Secrets that lack it, members
// without evidence of it, and leaves without a known verifier.
func (a *assessor) waitsForAll(ca *pki.Certificate) []Blocker {
	blockers := slices.Concat(a.unfit(ca), a.withoutAnchor(ca), a.waitsForTrust(a.parties, ca))
	for i := range a.d.Leaves {
		if l := &a.d.Leaves[i]; !l.Unnamed {
			blockers = append(blockers, a.unverified(l.Name)...)
		}
	}
	if len(a.d.Leaves) == 0 && !slices.ContainsFunc(a.parties, verifying) {
		blockers = append(blockers, Blocker{
			Object: secret(a.d.Signer.Name), Reason: ReasonNoVerifier, Message: noVerifier("what this signer signs"),
		})
	}
	return blockers
}

// unverified returns the blocker of a leaf without a known verifier, none if there is one.
func (a *assessor) unverified(leaf string) []Blocker {
	if slices.ContainsFunc(a.verifiers[leaf], verifying) {
		return nil
	}
	return []Blocker{{Object: secret(leaf), Reason: ReasonNoVerifier, Message: noVerifier("this leaf") + neverPopulated(a.verifiers[leaf])}}
}

// verifying reports whether the party has known verifiers. A party of pods counts also when none runs now but some
// did, or while they are not listed yet.
func verifying(p *Party) bool {
	return !p.VerifiesNothing && (len(p.Members) > 0 || p.empty || p.Unlisted)
}

func noVerifier(what string) string {
	return "no relying party with a member verifies " + what + ", so nothing tells who would refuse it: name who verifies it, " +
		"or say with the evidence kind none why that need not be known"
}
