// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

func (a *assessor) assessAnchors() []AnchorAssessment {
	out := make([]AnchorAssessment, 0, len(a.d.Bundle.Anchors))
	for _, ca := range a.d.Bundle.Anchors {
		aa := AnchorAssessment{Certificate: ca, Slot: a.slot(ca)}
		aa.Leaves = a.liveUnder(ca)
		aa.Trusted, aa.Members = a.countTrust(a.parties, ca)
		aa.NeededBy = a.neededBy(ca)
		aa.SafeToRemove = len(aa.NeededBy) == 0
		out = append(out, aa)
	}
	return out
}

// neededBy lists what would break without an anchor (AnchorInUse): the CA that signs, live leaves in Secrets, and
// holders that may still present an older leaf.
func (a *assessor) neededBy(ca *pki.Certificate) []string {
	var needs []string
	slot := a.slot(ca)
	if slot == SlotActive || slot == SlotNext {
		needs = append(needs, secret(a.d.Signer.Name))
	}
	needs = append(needs, slices.DeleteFunc(slices.Clone(a.under[ca.Fingerprint]), func(leaf string) bool {
		return a.replaceable(ca, strings.TrimPrefix(leaf, secret("")))
	})...)
	needs = append(needs, a.unreadable...)
	if (slot != SlotPrevious && slot != SlotRetired) || a.ended(ca) {
		return needs
	}
	needs = append(needs, namesOfBlockers(a.undeliveringOf(ca))...)
	if a.drainsUntil().After(a.now) && !a.neverSigned(ca) {
		needs = append(needs, "leaves that no Secret holds")
	}
	return needs
}

// drainsUntil returns until when leaves that no Secret holds may still be from the former CA, zero if there are none.
// Without a recorded promotion the age of the active CA is the lower bound.
func (a *assessor) drainsUntil() time.Time {
	if a.d.Unlisted == nil || a.d.Signer.Active == nil {
		return time.Time{}
	}
	since := a.d.Signer.Active.NotBefore.Add(a.d.Signer.Policy.Profile.Backdate)
	if promoted := a.promotedAt(); promoted.After(since) {
		since = promoted
	}
	return since.Add(a.d.Unlisted.Drain + a.d.ClockSkew.Abs())
}

// namesOfBlockers returns the members, by MemberName, or the objects.
func namesOfBlockers(blockers []Blocker) []string {
	var out []string
	for _, b := range blockers {
		if b.Party == "" {
			out = append(out, b.Object)
			continue
		}
		out = append(out, MemberName(b.Party, b.Member))
	}
	return out
}

// former returns the anchors of earlier generations that the domain must retire, in the order of the bundle.
func (a *assessor) former() []*pki.Certificate {
	return slices.DeleteFunc(a.earlier(), a.inseparable)
}

// earlier returns the anchors of earlier generations, including those that must stay for now (inseparable).
func (a *assessor) earlier() []*pki.Certificate {
	var out []*pki.Certificate
	for _, ca := range a.d.Bundle.Anchors {
		if slot := a.slot(ca); slot == SlotPrevious || slot == SlotRetired {
			out = append(out, ca)
		}
	}
	return out
}

// inseparable reports whether an anchor is the active CA before a renewal with its key, and a probed server does not
// prove the active one. No probe can tell which of the two a server has loaded. The anchor stays until a CA with
// another key replaces the active one.
func (a *assessor) inseparable(ca *pki.Certificate) bool {
	active := a.d.Signer.Active
	if same(ca, active) || ca.Expired(a.now) || !interchangeable(ca, active) || !ca.NotAfter.Before(active.NotAfter) {
		return false
	}
	return slices.ContainsFunc(a.parties, func(p *Party) bool { return p.Kind == TLSProbe && len(a.untrusting(p, active).blockers) > 0 })
}

// waitsForTwin returns the members without evidence of the active CA, if that was renewed with the key of ca. Until
// they show it, leaves end with ca.
func (a *assessor) waitsForTwin(ca *pki.Certificate) []Blocker {
	if active := a.d.Signer.Active; a.liveUnder(ca) > 0 && !same(ca, active) && interchangeable(ca, active) {
		return a.waitsForTrust(a.parties, active)
	}
	return nil
}

// unpublished returns the anchors that the bundle must have and lacks. A lost bundle is rebuilt from the slots and
// from the CAs in the Secrets of live leaves.
func (a *assessor) unpublished() []*pki.Certificate {
	s := &a.d.Signer
	lost := len(a.d.Bundle.Anchors) == 0
	var want []*pki.Certificate
	add := func(ca *pki.Certificate) {
		known := func(c *pki.Certificate) bool { return same(c, ca) }
		if ca != nil && !a.inBundle[ca.Fingerprint] && !slices.ContainsFunc(want, known) {
			want = append(want, ca)
		}
	}
	for _, ca := range s.Previous {
		if lost || a.liveUnder(ca) > 0 {
			add(ca)
		}
	}
	if lost {
		for _, ca := range a.claimed {
			if a.liveUnder(ca) > 0 && a.slot(ca) == SlotRetired {
				add(ca)
			}
		}
	}
	add(s.Active)
	add(s.Next)
	return want
}

// link is a CA that a leaf chains to.
type link struct {
	ca *pki.Certificate
	// identified says that every verifier finds it: each certificate on the path identifies its issuer
	// (pki.Certificate.Identifies).
	identified bool
}

// chainOf returns the CAs that a leaf chains to: its signer, the signer's signers, and so on, among the CAs of the
// slots, the bundle and the leaf's own Secret. The leaves of intermediates need their root as much as its own leaves
// do.
func (a *assessor) chainOf(l *Leaf) []link {
	known := slices.Concat(a.authorities, l.Authorities)
	var chain []link
	open := []link{{l.Certificate, true}}
	for len(open) > 0 {
		child := open[0]
		open = open[1:]
		for _, ca := range known {
			if same(ca, child.ca) || !child.ca.SignedBy(ca) {
				continue
			}
			next := link{ca, child.identified && child.ca.Identifies(ca)}
			at := slices.IndexFunc(chain, func(l link) bool { return same(l.ca, ca) })
			switch {
			case at < 0:
				chain = append(chain, next)
			case next.identified && !chain[at].identified:
				chain[at] = next
			default:
				continue
			}
			open = append(open, next)
		}
	}
	return chain
}

// isGeneration reports whether this domain made a CA, under the present name of its signer or a former one.
func (a *assessor) isGeneration(ca *pki.Certificate) bool {
	names := []string{a.d.Signer.Name}
	if a.d.Roster != nil {
		names = append(names, a.d.Roster.Signers...)
	}
	return slices.ContainsFunc(names, func(name string) bool { return pki.IsGenerationOf(ca.CommonName, a.d.Namespace, name) })
}

// twins returns the other, unexpired anchors with the name and key of a CA. Verifiers that trust them accept what the
// CA has signed, until they end. The exception is a leaf that identifies something that they lack
// (pki.Certificate.Identifies).
func (a *assessor) twins(ca *pki.Certificate) []*pki.Certificate {
	var out []*pki.Certificate
	for _, other := range a.d.Bundle.Anchors {
		if !same(ca, other) && sameKey(ca, other) && !other.Expired(a.now) {
			out = append(out, other)
		}
	}
	return out
}

// sameKey reports whether two CAs have the same key and name.
func sameKey(a, b *pki.Certificate) bool {
	return a != nil && b != nil && a.SubjectHash == b.SubjectHash && a.PublicKeyHash == b.PublicKeyHash
}

// interchangeable reports whether verifiers cannot tell two CAs apart by what they sign from now on.
func interchangeable(a, b *pki.Certificate) bool {
	return sameKey(a, b) && (a.SubjectKeyID == b.SubjectKeyID || a.SubjectKeyID == "" || b.SubjectKeyID == "")
}

// acceptedUntil returns until when all verifiers accept a leaf of ca. That is the end of ca if there is evidence that
// all have loaded it, else the end of its first twin. A CA that was renewed with its key and name is another anchor:
// verifiers must load it before leaves may outlive the former one.
func (a *assessor) acceptedUntil(ca *pki.Certificate, leaf string) time.Time {
	until := ca.NotAfter
	twins := a.twins(ca)
	if len(twins) == 0 || len(a.waitsForTrust(a.verifiers[leaf], ca)) == 0 {
		return until
	}
	for _, twin := range twins {
		if interchangeable(ca, twin) && twin.NotAfter.Before(until) {
			until = twin.NotAfter
		}
	}
	return until
}

// replaceable reports whether all verifiers of a leaf have loaded another anchor that accepts it in place of ca.
func (a *assessor) replaceable(ca *pki.Certificate, leaf string) bool {
	l := a.leaves[leaf]
	return slices.ContainsFunc(a.twins(ca), func(twin *pki.Certificate) bool {
		return l.Certificate.Identifies(twin) && !l.Certificate.NotAfter.After(twin.NotAfter) &&
			(a.ended(ca) || len(a.waitsForTrust(a.verifiers[leaf], twin)) == 0)
	})
}
