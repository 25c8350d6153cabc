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

// by names the process that a proof is about, if there are several.
func (v proof) by(o *Observation, seen []*Observation) proof {
	if len(seen) > 1 {
		v.message = "its process " + o.Instance + " " + v.message
	}
	return v
}

// lacking are the members without evidence of something. until is when time alone first changes that.
type lacking struct {
	blockers []Blocker
	until    moments
}

func (l *lacking) add(p *Party, m *Member, v proof) {
	if v.proven {
		return
	}
	l.blockers = append(l.blockers, p.blocker(m, v))
	l.until.add(v.until)
}

// proofs are what each member has shown of each CA and leaf: the third step of an assessment.
type proofs struct {
	*roster
	// untrusted are the members of a party without evidence of a CA. bare are the leaves whose Secrets lack it, and
	// misfits those that it cannot sign. All have the CAs of the domain and those that signed its leaves.
	untrusted map[trustKey]lacking
	bare      map[pki.Fingerprint][]Blocker
	misfits   map[pki.Fingerprint][]misfit
	// undelivered are the members without evidence of presenting all their current leaves, and live leaves without a
	// known holder: an older content of those may be live anywhere.
	undelivered lacking
	// former are the anchors of earlier generations that the domain must retire, in the order of the bundle.
	former []*pki.Certificate
	// until is when time alone changes the roster or a proof.
	until moments
}

type trustKey struct {
	party *Party
	ca    pki.Fingerprint
}

func newProofs(r *roster) *proofs {
	a := &proofs{
		roster: r, until: r.until,
		untrusted: map[trustKey]lacking{},
		bare:      map[pki.Fingerprint][]Blocker{},
		misfits:   map[pki.Fingerprint][]misfit{},
	}
	for _, ca := range r.signing() {
		a.bare[ca.Fingerprint] = r.bareOf(ca)
		a.misfits[ca.Fingerprint] = misfitsOf(r.d, ca)
		for _, p := range r.parties {
			untrusted := a.untrusting(p, ca)
			a.untrusted[trustKey{p, ca.Fingerprint}] = untrusted
			a.until.add(untrusted.until.next)
		}
	}
	a.undelivered = a.undelivering()
	a.until.add(a.undelivered.until.next)
	a.former = slices.DeleteFunc(a.earlier(), a.inseparable)
	return a
}

// trusts returns whether there is evidence that a member has loaded the anchor of ca.
func (a *proofs) trusts(p *Party, m *Member, ca *pki.Certificate) proof {
	if a.waiver(p, m) != nil && !a.seenWithout(p, m, ca) {
		return proven
	}
	var first proof
	for i, anchor := range a.anchorsFor(ca) {
		loaded := a.trustsAnchor(p, m, anchor)
		if loaded.proven {
			return loaded
		}
		if i == 0 {
			first = loaded
		}
	}
	return first
}

func (a *proofs) trustsAnchor(p *Party, m *Member, ca *pki.Certificate) proof {
	if !p.Kind.Known() {
		return proof{reason: ReasonNotObserved, message: fmt.Sprintf("has the unknown evidence kind %q", p.Kind)}
	}
	switch p.Kind.traits().basis {
	case onStatement:
		return proven
	case onTime:
		return a.trustsByGrace(p, m, ca)
	case onRenewal:
		return a.trustsByRenewal(p, m, ca)
	case onObservation:
	}
	return a.trustsByObservation(p, m, ca)
}

func (a *proofs) trustsByGrace(p *Party, m *Member, ca *pki.Certificate) proof {
	published, ok := a.published[ca.Fingerprint]
	if !ok || !a.inBundle[ca.Fingerprint] {
		return proof{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf("waits for the publication of %s", ca.Subject)}
	}
	// No anchor was published before it was made, no matter what is recorded.
	if made := ca.NotBefore.Add(a.d.Signer.backdate()); made.After(published) {
		published = made
	}
	// A member that mounts a deleted Secret loads nothing new until the Secret is back. If no CA can bring it back
	// before its holder trusts another one, only the grace period is left.
	for _, name := range m.Holds {
		l := a.leaves[name]
		if (l == nil || !l.Present) && a.bringsBackAny() {
			return proof{reason: ReasonAnchorNotLoaded, message: fmt.Sprintf("holds Secret/%s, which does not exist, so it has loaded nothing since", name)}
		}
		switch {
		case l == nil:
		case a.ahead(l.Created) && !l.Unnamed:
			return proof{reason: ReasonAnchorNotLoaded, until: l.Created.Add(-maxClockSkew), message: fmt.Sprintf(
				"holds Secret/%[1]s, which a clock that was ahead created at %[2]s, so it is not known since when it could be loaded: delete Secret/%[1]s, and it is made anew",
				name, l.Created.UTC().Format(time.RFC3339))}
		case l.Created.After(published):
			published = l.Created
		}
	}
	return a.waitsFor(p, published, "is in its grace period for "+ca.Subject+" until ", "")
}

// waitsFor is proven once the grace of a party, and the clock skew, have passed since a time. The message is text,
// the end of the wait, and rest.
func (a *proofs) waitsFor(p *Party, since time.Time, text, rest string) proof {
	until := since.Add(p.Grace + a.d.ClockSkew.Abs())
	if !until.After(a.now) {
		return proven
	}
	return proof{reason: ReasonGracePeriod, until: until, message: text + until.UTC().Format(time.RFC3339) + rest}
}

// trustsByRenewal takes renewed leaves for evidence: the leaves that a member holds are signed by ca, and presented.
func (a *proofs) trustsByRenewal(p *Party, m *Member, ca *pki.Certificate) proof {
	for _, name := range m.Holds {
		l := a.leaves[name]
		if l == nil || l.Certificate == nil || !l.Certificate.SignedBy(ca) && !a.chains(l, ca) {
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

// deliversAfter counts a leaf as presented some time after it was written. That is the operator's assumption, so
// without a configured time the write proves nothing.
func (a *proofs) deliversAfter(p *Party, l *Leaf) proof {
	if p.Grace <= 0 {
		return proof{reason: ReasonNotObserved, message: fmt.Sprintf(
			"is not observed, and no delay is configured after which Secret/%s counts as presented", l.Name)}
	}
	return a.waitsFor(p, l.issuedAt(), "counts as presenting Secret/"+l.Name+" from ", " on")
}

// untrusting lists the members of one party without evidence of ca.
func (a *proofs) untrusting(p *Party, ca *pki.Certificate) lacking {
	if known, ok := a.untrusted[trustKey{p, ca.Fingerprint}]; ok {
		return known
	}
	out := lacking{until: moments{now: a.now}}
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
	return out
}

func (a *proofs) waitsForTrust(parties []*Party, ca *pki.Certificate) []Blocker {
	var blockers []Blocker
	for _, p := range parties {
		blockers = append(blockers, a.untrusting(p, ca).blockers...)
	}
	return blockers
}

// countTrust counts the verifying members of parties, and those that trust ca (none if ca is nil).
func (a *proofs) countTrust(parties []*Party, ca *pki.Certificate) (trusted, total int) {
	all, behind := map[memberKey]bool{}, map[memberKey]bool{}
	twice, once, late := repeated(parties), 0, 0
	for _, p := range parties {
		if p.VerifiesNothing {
			continue
		}
		if !twice[p.Name] {
			once += len(p.Members)
			if ca != nil {
				late += len(a.untrusting(p, ca).blockers) - len(p.unlisted())
			}
			continue
		}
		for i := range p.Members {
			all[memberKey{p.Name, p.Members[i].Name}] = true
		}
		if ca != nil {
			for _, b := range a.untrusting(p, ca).blockers {
				if key := (memberKey{b.Party, b.Member}); all[key] {
					behind[key] = true
				}
			}
		}
	}
	if ca == nil {
		return 0, once + len(all)
	}
	return once - late + len(all) - len(behind), once + len(all)
}

// repeated reports, by name, whether several parties have the name: they may share members.
func repeated(parties []*Party) map[string]bool {
	out := make(map[string]bool, len(parties))
	for _, p := range parties {
		_, again := out[p.Name]
		out[p.Name] = again
	}
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
		case p.Kind.OfTargets():
			message += ", or delete the object, so that it is proven to be gone"
		case m.Instance != "":
			message += ", or remove its machine, so that it is proven to be gone"
			if len(p.releases) > 0 {
				message += "; if it is gone and its node stays, release it when the rotation is over: " + strings.Join(p.releases, ", ")
			}
		}
	}
	return Blocker{Party: p.Name, Member: m.Name, Reason: v.reason, Message: message}
}

// waitsForAll lists the blockers of a promotion: leaves that the CA cannot sign, Secrets that lack it, members
// without evidence of it, and leaves without a known verifier.
func (a *proofs) waitsForAll(ca *pki.Certificate) []Blocker {
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
func (a *proofs) unverified(leaf string) []Blocker {
	if slices.ContainsFunc(a.verifiers[leaf], verifying) {
		return nil
	}
	return []Blocker{{Object: secret(leaf), Reason: ReasonNoVerifier, Message: noVerifier("this leaf") + neverPopulated(a.verifiers[leaf])}}
}

func noVerifier(what string) string {
	return "no relying party with a member verifies " + what + ", so nothing tells who would refuse it: name who verifies it, " +
		"or say with the evidence kind none why that need not be known"
}
