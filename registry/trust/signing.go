// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"

	"certrotation.dev/registry/pki"
)

// live says whether anybody could be presenting the leaf of this Secret successfully.
func (a *assessor) live(l *Leaf) bool {
	return l.Certificate != nil && !l.Certificate.Expired(a.now)
}

// anyLive says whether anybody could be cut off at all. A leaf that cannot be read counts as live, and so do leaves
// that no Secret holds.
func (a *assessor) anyLive() bool {
	return a.lives+len(a.unreadable) > 0 || a.unlistedLive()
}

// unlistedLive says whether leaves that no Secret holds may be presented: of the active CA, or, if its key was lost, of
// one that is still an anchor.
func (a *assessor) unlistedLive() bool {
	return a.d.Unlisted != nil && (a.usable(a.d.Signer.Active) || slices.ContainsFunc(a.former(), a.usable))
}

// restorable says whether leaves that are missing or expired come back from the active CA, which everybody trusts
// already. Their holders may still present what their Secrets no longer hold, so this is no fresh start, not even where
// the bundle is lost too: it is rebuilt from the slots.
func (a *assessor) restorable() bool {
	active := a.d.Signer.Active
	return len(a.d.Leaves) > 0 && active != nil && active.ValidAt(a.now)
}

// liveUnder counts the live leaves that ca signed.
func (a *assessor) liveUnder(ca *pki.Certificate) int { return len(a.under[ca.Fingerprint]) }

// established says whether a CA may sign without further evidence; see the package comment.
func (a *assessor) established(ca *pki.Certificate) bool {
	if !a.inBundle[ca.Fingerprint] {
		return false
	}
	switch a.slot(ca) {
	case SlotPrevious:
		// It was active, and its anchor has not left the bundle since.
		return true
	case SlotActive:
		under := a.liveUnder(ca)
		if a.replaces() && under < len(a.d.Leaves) {
			// A leaf that is missing does not say that those who verify it have loaded this CA, and the one that it
			// replaces can sign meanwhile.
			return false
		}
		next := a.d.Signer.Next
		// Where every live leaf has moved to next already, the last leaves of the active CA are gone, not its verifiers:
		// they have loaded it, and only it can bring back a member that must start before it can load next.
		return under == a.lives || (next != nil && (under > 0 || a.liveUnder(next) == a.lives))
	case SlotNext, SlotRetired, SlotForeign:
	}
	return false
}

// replaces says whether the active CA has replaced one that can still sign.
func (a *assessor) replaces() bool {
	return slices.ContainsFunc(a.d.Signer.Previous, func(ca *pki.Certificate) bool {
		return ca.ValidAt(a.now) && a.inBundle[ca.Fingerprint]
	})
}

// maySign says whether a leaf may be signed by a CA (TrustBeforeUse), and who stands against it.
func (a *assessor) maySign(ca *pki.Certificate, leaf string) (bool, []Blocker) {
	if !a.inBundle[ca.Fingerprint] {
		return false, []Blocker{{
			Object: configMap(a.d.Bundle.Name), Reason: ReasonAnchorNotLoaded,
			Message: "the bundle does not hold " + ca.Subject + " yet",
		}}
	}
	if a.established(ca) {
		return true, nil
	}
	blockers := a.waitsForTrust(a.verifiers[leaf], ca)
	return len(blockers) == 0, blockers
}

// candidates are the CAs whose keys are there to sign with, newest first, and valid now.
func (a *assessor) candidates() []*pki.Certificate {
	var out []*pki.Certificate
	s := &a.d.Signer
	for _, ca := range append([]*pki.Certificate{s.Next, s.Active}, s.Previous...) {
		if ca != nil && ca.ValidAt(a.now) {
			out = append(out, ca)
		}
	}
	return out
}

// bestSigner is the newest CA that may sign a leaf, nil if none may. The blockers are those of the newest CA.
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

// olderThan says whether ca is further from being the newest than other. An unknown CA is the oldest.
func (a *assessor) olderThan(ca, other *pki.Certificate) bool {
	return a.rank(ca) > a.rank(other)
}

func (a *assessor) rank(ca *pki.Certificate) int {
	s := &a.d.Signer
	switch {
	case ca == nil:
		return 3 + len(s.Previous)
	case same(ca, s.Next):
		return 0
	case same(ca, s.Active):
		return 1
	}
	for i, p := range s.Previous {
		if same(ca, p) {
			return 2 + i
		}
	}
	return 2 + len(s.Previous)
}

func secret(name string) string    { return string(SecretKind) + "/" + name }
func configMap(name string) string { return string(ConfigMapKind) + "/" + name }
