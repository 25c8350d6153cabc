// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"strings"

	"certrotation.dev/registry/pki"
)

// live reports whether the leaf of this Secret may be presented successfully. A leaf is not live if the configuration
// no longer names it and all its presenting members are proven to be gone.
func (a *assessor) live(l *Leaf) bool {
	return l.Certificate != nil && !a.ended(l.Certificate) && (!l.Unnamed || !a.abandoned[l.Name])
}

// anyLive reports whether anything could be cut off at all. Unreadable leaves, and leaves that no Secret holds, count
// as live.
//
// Missing Secrets prove nothing: processes outlive them. An unexpired anchor of the domain means that a leaf of it
// may still be presented. So does a member that was observed to present a leaf, or is recorded to run.
func (a *assessor) anyLive() bool {
	return a.lives+len(a.unreadable) > 0 || a.unlistedLive() || a.anyAnchor() || a.anyPresented() || a.anyLost()
}

// anyLost reports whether a member may present a leaf that is lost together with its CA.
func (a *assessor) anyLost() bool {
	if active := a.d.Signer.Active; active != nil && !a.unsure(active) || a.d.Roster == nil || !a.d.Roster.Issued {
		return false
	}
	missing := func(name string) bool { return a.leaves[name] == nil || !a.leaves[name].Present }
	for _, m := range each(a.parties) {
		if !a.idle[m] && (a.d.Unlisted != nil || slices.ContainsFunc(m.Holds, missing)) {
			return true
		}
	}
	return false
}

// anyAnchor reports whether the bundle holds an unexpired CA of the domain. next does not count: it has signed only
// what is in Secrets.
func (a *assessor) anyAnchor() bool {
	return slices.ContainsFunc(a.d.Bundle.Anchors, func(ca *pki.Certificate) bool {
		slot := a.slot(ca)
		return !a.ended(ca) && slot != SlotNext && slot != SlotForeign
	})
}

// anyPresented reports whether there is a current observation of a process that presents a leaf.
func (a *assessor) anyPresented() bool {
	presents := func(o *Observation) bool { return len(o.Presents) > 0 }
	for p, m := range each(a.parties) {
		if !p.recorded && slices.ContainsFunc(a.observations[m], presents) {
			return true
		}
	}
	return false
}

// unlistedLive reports whether leaves that no Secret holds may be presented: of the active CA, or, if its key was
// lost, of one that is still an anchor.
func (a *assessor) unlistedLive() bool {
	inUse := func(ca *pki.Certificate) bool { return ca != nil && !a.ended(ca) }
	return a.d.Unlisted != nil && (inUse(a.d.Signer.Active) || slices.ContainsFunc(a.former(), inUse))
}

// restorable reports whether the active CA, which all members trust already, can restore missing or expired leaves.
// Their holders may still present what their Secrets no longer hold, so this is no fresh start. That holds even if
// the bundle is lost too: it is rebuilt from the slots.
func (a *assessor) restorable() bool {
	active := a.d.Signer.Active
	return active != nil && active.ValidAt(a.now) && (len(a.d.Leaves) > 0 || a.formerHolders())
}

// formerHolders reports whether a member counts that is no longer configured and may present a leaf. A lost label, or
// a removed party, stops no process.
func (a *assessor) formerHolders() bool {
	for p, m := range each(a.parties) {
		if p.recorded && len(m.Holds) > 0 && a.started(p, m) {
			return true
		}
	}
	return false
}

// liveUnder counts the live leaves that some verifier accepts by ca. Check it before ca is removed.
func (a *assessor) liveUnder(ca *pki.Certificate) int { return len(a.under[ca.Fingerprint]) }

// borneBy counts the live leaves that every verifier accepts by ca. Check it before ca is used.
func (a *assessor) borneBy(ca *pki.Certificate) int { return a.borne[ca.Fingerprint] }

// established reports whether a CA may sign without further evidence; see the package comment.
func (a *assessor) established(ca *pki.Certificate) bool {
	if !a.inBundle[ca.Fingerprint] {
		return false
	}
	switch a.slot(ca) {
	case SlotPrevious:
		// Its anchor has been in the bundle since it was active.
		return a.wasActive(ca)
	case SlotActive:
		under := a.borneBy(ca)
		if a.replaces() && under < len(a.d.Leaves) {
			// A missing leaf does not prove that its verifiers have loaded this CA, and the CA that it replaces can
			// sign meanwhile.
			return false
		}
		next := a.d.Signer.Next
		// If every live leaf has moved to next, the active CA has lost its leaves, not its verifiers. They have
		// loaded it, and only it can restore a member that must start before it can load next.
		return under == a.lives || (next != nil && (under > 0 || a.borneBy(next) == a.lives))
	case SlotNext, SlotRetired, SlotForeign:
	}
	return false
}

// replaces reports whether the active CA has replaced one that can still sign.
func (a *assessor) replaces() bool {
	return slices.ContainsFunc(a.d.Signer.Previous, func(ca *pki.Certificate) bool {
		return ca.ValidAt(a.now) && a.inBundle[ca.Fingerprint] && a.wasActive(ca)
	})
}

// wasActive tells a former active CA from one that was dropped before its promotion: the latter is younger than the
// active one.
func (a *assessor) wasActive(previous *pki.Certificate) bool {
	active := a.d.Signer.Active
	return active == nil || !previous.NotBefore.After(active.NotBefore)
}

// maySign reports whether a CA may sign a leaf (TrustBeforeUse), and the blockers.
func (a *assessor) maySign(ca *pki.Certificate, leaf string) (bool, []Blocker) {
	if !a.inBundle[ca.Fingerprint] {
		return false, []Blocker{{
			Object: configMap(a.d.Bundle.Name), Reason: ReasonAnchorNotLoaded,
			Message: "the bundle does not hold " + ca.Subject + " yet",
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

// misfit is a leaf that verifiers would refuse if a certain CA signed it, and why: the CA's extensions restrict what
// it may sign.
type misfit struct {
	leaf string
	err  error
}

// misfitsOf returns the leaves that a CA cannot sign, ordered. It caches them: the check of a restricted CA costs a
// signature for each leaf.
func (a *assessor) misfitsOf(ca *pki.Certificate) []misfit {
	if known, ok := a.misfits[ca.Fingerprint]; ok {
		return known
	}
	var out []misfit
	for i := range a.d.Leaves {
		l := &a.d.Leaves[i]
		if l.Unnamed {
			continue
		}
		if err := ca.CheckLeaf(l.Policy.Profile); err != nil {
			out = append(out, misfit{l.Name, err})
		}
	}
	a.misfits[ca.Fingerprint] = out
	return out
}

// unfitFor returns the blocker of a CA that cannot sign a leaf. While next is unfit for any leaf it signs none: it is
// not promoted, and one signed leaf would make an abort too late.
func (a *assessor) unfitFor(ca *pki.Certificate, leaf string) []Blocker {
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
func (a *assessor) unfit(ca *pki.Certificate) []Blocker {
	var out []Blocker
	for _, m := range a.misfitsOf(ca) {
		out = append(out, a.misfitBlocker(ca, m))
	}
	return out
}

func (a *assessor) misfitBlocker(ca *pki.Certificate, m misfit) Blocker {
	cure := "rotate it"
	if same(ca, a.d.Signer.Next) {
		cure = abortIt(a.d.Signer.Name)
	}
	return Blocker{
		Object: secret(m.leaf), Reason: ReasonUnfitSigner,
		Message: fmt.Sprintf("would be refused if %s signed it: %v; %s", ca.Subject, m.err, cure),
	}
}

// denied returns the verifiers of a leaf that were observed not to trust a CA, although all should.
func (a *assessor) denied(ca *pki.Certificate, leaf string) []Blocker {
	var blockers []Blocker
	for p, m := range each(a.verifiers[leaf]) {
		if a.denies(p, m, ca) {
			blockers = append(blockers, p.blocker(m, proof{reason: ReasonDiverged, message: divergence(ca)}))
		}
	}
	return blockers
}

func divergence(ca *pki.Certificate) string {
	return fmt.Sprintf("was seen to trust other CAs than %s, which everybody should have loaded: make it load the bundle, "+
		"or restore what it trusts if the Secrets are older than its process", ca.Subject)
}

// candidates returns the valid CAs with keys to sign with, newest first. It omits CAs that are closed to signing
// (NeverSigned), and those whose signing cannot be recorded now (recordIssue).
func (a *assessor) candidates() []*pki.Certificate {
	return slices.DeleteFunc(a.d.Signer.slots(), func(ca *pki.Certificate) bool {
		unrecordable := a.rosterRefused() && (!a.roster().Issued || same(ca, a.d.Signer.Next) && !a.mayHaveSigned(ca))
		return !ca.ValidAt(a.now) || a.neverSigned(ca) || unrecordable
	})
}

// slots returns the CAs of the slots, newest first.
func (s *Signer) slots() []*pki.Certificate {
	all := append([]*pki.Certificate{s.Next, s.Active}, s.Previous...)
	return slices.DeleteFunc(all, func(ca *pki.Certificate) bool { return ca == nil })
}

// bestSigner returns the newest CA that may sign a leaf, nil if none may, and the blockers of the newest candidate.
func (a *assessor) bestSigner(leaf string) (*pki.Certificate, []Blocker) {
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

// olderThan reports whether ca is further from the newest than other. An unknown CA is the oldest.
func (a *assessor) olderThan(ca, other *pki.Certificate) bool {
	return a.rank(ca) > a.rank(other)
}

func (a *assessor) rank(ca *pki.Certificate) int {
	slots := a.d.Signer.slots()
	at := slices.IndexFunc(slots, func(other *pki.Certificate) bool { return same(ca, other) })
	switch {
	case ca == nil:
		return len(slots) + 1
	case at < 0:
		return len(slots)
	}
	return at
}

func secret(name string) string    { return string(SecretKind) + "/" + name }
func configMap(name string) string { return string(ConfigMapKind) + "/" + name }
