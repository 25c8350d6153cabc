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

// neededBy lists what would break without an anchor (AnchorInUse): the CA that signs, live leaves in Secrets, and
// holders that may still present an older leaf.
func (a *proofs) neededBy(ca *pki.Certificate) []string {
	var needs []string
	slot := a.slot(ca)
	if slot == SlotActive || slot == SlotNext {
		needs = append(needs, secret(a.d.Signer.Name))
	}
	for _, leaf := range a.under[ca.Fingerprint] {
		if !a.replaceable(ca, leaf) {
			needs = append(needs, secret(leaf))
		}
	}
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

// inseparable reports whether an anchor is the active CA before a renewal with its key, and a probed server does not
// prove the active one. No probe can tell which of the two a server has loaded. The anchor stays until a CA with
// another key replaces the active one.
func (a *proofs) inseparable(ca *pki.Certificate) bool {
	active := a.d.AnchorOf(a.d.Signer.Active)
	if same(ca, active) || ca.Expired(a.now) || !interchangeable(ca, active) || !ca.NotAfter.Before(active.NotAfter) {
		return false
	}
	return slices.ContainsFunc(a.parties, func(p *Party) bool { return p.Kind.ByHandshake() && len(a.untrusting(p, active).blockers) > 0 })
}

// waitsForStandIns returns the members without evidence of an anchor that could replace ca for a leaf that needs ca
// until then (neededBy). Such a leaf ends with ca.
func (a *proofs) waitsForStandIns(ca *pki.Certificate) []Blocker {
	var out []Blocker
	for _, leaf := range a.under[ca.Fingerprint] {
		if a.replaceable(ca, leaf) {
			continue
		}
		for _, twin := range a.standIns(ca, leaf) {
			out = append(out, a.waitsForTrust(a.verifiers[leaf], twin)...)
		}
	}
	return out
}

// acceptedUntil returns until when all verifiers accept a leaf of ca. That is the end of ca if there is evidence that
// all have loaded it, else the end of its first twin. A CA that was renewed with its key and name is another anchor:
// verifiers must load it before leaves may outlive the former one.
func (a *proofs) acceptedUntil(ca *pki.Certificate, leaf string) time.Time {
	until := a.endOf(ca)
	anchor := a.d.AnchorOf(ca)
	twins := a.twins(anchor)
	if len(twins) == 0 || len(a.waitsForTrust(a.verifiers[leaf], ca)) == 0 {
		return until
	}
	for _, twin := range twins {
		if interchangeable(anchor, twin) && twin.NotAfter.Before(until) {
			until = twin.NotAfter
		}
	}
	return until
}

// replaceable reports whether all verifiers of a leaf have loaded another anchor that accepts it in place of ca.
func (a *proofs) replaceable(ca *pki.Certificate, leaf string) bool {
	return slices.ContainsFunc(a.standIns(ca, leaf), func(twin *pki.Certificate) bool {
		return a.ended(ca) || len(a.waitsForTrust(a.verifiers[leaf], twin)) == 0
	})
}

// The anchors beside a leaf, under ca.crt of its Secret, serve the many programs that mount only one Secret. So
// ca.crt is a copy of the bundle: it gains an anchor before the bundle does, and loses it after the bundle has.
//
//	Distributing   every ca.crt gains next ──► the bundle gains it ──► a member with evidence of the bundle has both
//	Retiring       the bundle loses the old one ──► every ca.crt loses it ──► its key is destroyed

// anchorsBeside returns the anchors that the Secret of a leaf must have, in order: those of the bundle with those that
// it is about to gain, and others of the Secret that are still needed.
func (a *proofs) anchorsBeside(l *Leaf) []*pki.Certificate {
	added := slices.DeleteFunc(a.unpublished(), func(ca *pki.Certificate) bool { return ca.Expired(a.now) })
	want := a.d.Bundle.with(a.d.Bundle.Anchors, added...)
	for _, ca := range l.Anchors {
		if !slices.ContainsFunc(want, ca.Equal) && len(a.neededBy(ca)) > 0 {
			want = append(want, ca)
		}
	}
	return want
}

// renewedWithItsKey returns the anchor that a probe cannot tell from the active CA, nil if there is none. No rotation of
// the active CA would change that for its root.
func (a *proofs) renewedWithItsKey() *pki.Certificate {
	renewed := func(ca *pki.Certificate) bool { return sameKey(ca, a.d.Signer.Active) && a.inseparable(ca) }
	if i := slices.IndexFunc(a.d.Bundle.Anchors, renewed); i >= 0 {
		return a.d.Bundle.Anchors[i]
	}
	return nil
}

// withoutAnchor returns, as blockers, the leaves whose Secrets lack the anchor of a CA that they must have.
func (a *proofs) withoutAnchor(ca *pki.Certificate) []Blocker {
	ca = a.d.AnchorOf(ca)
	if known, ok := a.bare[ca.Fingerprint]; ok {
		return known
	}
	return a.bareOf(ca)
}

func (a *roster) bareOf(ca *pki.Certificate) []Blocker {
	if ca.Expired(a.now) {
		return nil
	}
	var out []Blocker
	for i := range a.d.Leaves {
		if l := &a.d.Leaves[i]; a.lacksAnchor(l, ca) {
			message := "does not have " + ca.Subject + " under ca.crt yet"
			if !a.copiesAnchors(l) {
				message += ", and is not written as it is: repair it, or delete it to have it made anew"
			}
			out = append(out, Blocker{Object: secret(l.Name), Reason: ReasonAnchorNotLoaded, Message: message})
		}
	}
	return out
}

// lacksAnchor reports whether the Secret of a leaf lacks an anchor that it must have. A Secret that cannot be written
// holds up next alone: what is in use must not wait for it.
func (a *roster) lacksAnchor(l *Leaf, ca *pki.Certificate) bool {
	must := a.copiesAnchors(l) || a.isOnlyNexts(ca) && a.hasAnchors(l)
	return must && !slices.ContainsFunc(l.Anchors, ca.Equal)
}

// misfitsOf returns those of a CA that need not be in a slot.
func (a *proofs) misfitsOf(ca *pki.Certificate) []misfit {
	if known, ok := a.misfits[ca.Fingerprint]; ok {
		return known
	}
	return misfitsOf(a.d, ca)
}

// unfitFor returns the blocker of a CA that cannot sign a leaf. While next is unfit for any leaf it signs none: it is
// not promoted, and one signed leaf would make an abort too late.
func (a *proofs) unfitFor(ca *pki.Certificate, leaf string) []Blocker {
	all := a.misfitsOf(ca)
	at, found := slices.BinarySearchFunc(all, leaf, func(m misfit, name string) int { return strings.Compare(m.leaf, name) })
	switch {
	case found:
		return []Blocker{a.misfitBlocker(ca, all[at])}
	case len(all) > 0 && same(ca, a.d.Signer.Next):
		return []Blocker{a.misfitBlocker(ca, all[0])}
	}
	return nil
}

// unfit returns the blockers of all leaves that a CA cannot sign.
func (a *proofs) unfit(ca *pki.Certificate) []Blocker {
	var out []Blocker
	for _, m := range a.misfitsOf(ca) {
		out = append(out, a.misfitBlocker(ca, m))
	}
	return out
}

func (a *proofs) misfitBlocker(ca *pki.Certificate, m misfit) Blocker {
	cure := "rotate it"
	if same(ca, a.d.Signer.Next) {
		cure = abortIt(a.d.Signer.Name)
	}
	return Blocker{
		Object: secret(m.leaf), Reason: ReasonUnfitSigner,
		Message: fmt.Sprintf("would be refused if %s signed it: %v; %s", ca.Subject, m.err, cure),
	}
}
