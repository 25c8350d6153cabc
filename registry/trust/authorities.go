// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

func (a *facts) usable(ca *pki.Certificate) bool { return ca != nil && !ca.Expired(a.now) }

// twins returns the other, unexpired anchors with the name and key of a CA. Verifiers that trust them accept what the
// CA has signed, until they end. The exception is a leaf that identifies something that they lack
// (pki.Certificate.Identifies).
func (a *facts) twins(ca *pki.Certificate) []*pki.Certificate {
	var out []*pki.Certificate
	for _, other := range a.d.Bundle.Anchors {
		if !same(ca, other) && sameKey(ca, other) && !other.Expired(a.now) {
			out = append(out, other)
		}
	}
	return out
}

// standIns returns the other anchors that accept a leaf of a CA in its place, once they are loaded.
func (a *facts) standIns(ca *pki.Certificate, leaf string) []*pki.Certificate {
	c := a.leaves[leaf].Certificate
	return slices.DeleteFunc(a.twins(ca), func(twin *pki.Certificate) bool {
		return a.tooEarly(twin) || !a.chains(a.leaves[leaf], twin) || c.NotAfter.After(twin.NotAfter)
	})
}

// sameKey reports whether two CAs have the same key and name.
func sameKey(a, b *pki.Certificate) bool {
	return a != nil && b != nil && a.SubjectHash == b.SubjectHash && a.PublicKeyHash == b.PublicKeyHash
}

// interchangeable reports whether verifiers cannot tell two CAs apart by what they sign from now on.
func interchangeable(a, b *pki.Certificate) bool {
	return sameKey(a, b) && (a.SubjectKeyID == b.SubjectKeyID || a.SubjectKeyID == "" || b.SubjectKeyID == "")
}

// olderThanTwin reports whether a leaf proves nothing about a CA, as it was issued before the CA was renewed with the
// same key.
func (a *facts) olderThanTwin(l *Leaf, ca *pki.Certificate) bool {
	anchor := a.d.AnchorOf(ca)
	return len(a.twins(anchor)) > 0 && l.issuedAt().Before(a.published[anchor.Fingerprint])
}

// wasActive tells a former active CA from one that was dropped before its promotion: the latter is younger than the
// active one.
func (a *facts) wasActive(previous *pki.Certificate) bool {
	active := a.d.Signer.Active
	return active == nil || !previous.NotBefore.After(active.NotBefore)
}

// established reports whether a CA may sign without further evidence; see the package comment.
func (a *facts) established(ca *pki.Certificate) bool {
	if !a.anchored(ca) {
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
		return under == a.valid || (next != nil && (under > 0 || a.borneBy(next) == a.valid))
	case SlotNext, SlotRetired, SlotForeign:
	}
	return false
}

// replaces reports whether the active CA has replaced one that can still sign, or one of its key and name that some
// verifiers tell from it: verifiers that have loaded that one alone may refuse what the active one signs.
func (a *facts) replaces() bool {
	active := a.d.Signer.Active
	if slices.ContainsFunc(a.twins(active), func(twin *pki.Certificate) bool { return !interchangeable(twin, active) }) {
		return true
	}
	return slices.ContainsFunc(a.d.Signer.Previous, func(ca *pki.Certificate) bool {
		return ca.ValidAt(a.now) && a.anchored(ca) && a.wasActive(ca)
	})
}

// bringsBack reports whether a CA can reissue what is lost before its verifiers load another one. The former CAs of an
// issuer cannot.
func (a *facts) bringsBack(ca *pki.Certificate) bool {
	return a.usable(ca) && a.established(ca) && (a.d.Issuer == "" || a.issuerSignsWith(ca))
}

// bringsBackAny reports whether some CA of the signer can.
func (a *facts) bringsBackAny() bool { return slices.ContainsFunc(a.d.Signer.slots(), a.bringsBack) }

// anyAnchor reports whether the bundle holds an unexpired CA of the domain. next does not count: it has signed only
// what is in Secrets.
func (a *facts) anyAnchor() bool {
	return slices.ContainsFunc(a.d.Bundle.Anchors, func(ca *pki.Certificate) bool {
		slot := a.slot(ca)
		return !a.ended(ca) && slot != SlotNext && slot != SlotForeign
	})
}

// unlistedLive reports whether leaves that no Secret holds may be presented: of the active CA, or, if its key was
// lost, of one that is still an anchor.
func (a *facts) unlistedLive() bool {
	inUse := func(ca *pki.Certificate) bool { return ca != nil && !a.ended(ca) }
	return a.d.Unlisted != nil && (inUse(a.d.Signer.Active) || slices.ContainsFunc(a.earlier(), inUse))
}

// drainsUntil returns until when leaves that no Secret holds may still be from the former CA, zero if there are none.
// Without a recorded promotion the age of the active CA is the lower bound.
func (a *facts) drainsUntil() time.Time {
	if a.d.Unlisted == nil || a.d.Signer.Active == nil {
		return time.Time{}
	}
	since := a.d.Signer.Active.NotBefore.Add(a.d.Signer.backdate())
	if promoted := a.promotedAt(); promoted.After(since) {
		since = promoted
	}
	return since.Add(a.d.Unlisted.Drain + a.d.ClockSkew.Abs())
}

// promotedAt returns when the active CA was promoted, zero if that is not recorded.
func (a *facts) promotedAt() time.Time {
	at, err := time.Parse(time.RFC3339, a.d.Signer.Annotations[AnnotationPromotedAt])
	if err != nil {
		return time.Time{}
	}
	return at
}

// mayHaveSigned reports whether leaves may have been signed by a CA that was not promoted. neverSigned reports that
// none were, and none will be. Both are false while nothing is recorded: the CA does not sign yet.
func (a *facts) mayHaveSigned(ca *pki.Certificate) bool {
	return a.d.Roster != nil && slices.Contains(a.d.Roster.MayHaveSigned, ca.Fingerprint)
}

func (a *facts) neverSigned(ca *pki.Certificate) bool {
	return a.d.Roster != nil && slices.Contains(a.d.Roster.NeverSigned, ca.Fingerprint)
}

func (a *facts) rosterRefused() bool {
	return slices.ContainsFunc(a.d.Refusals, func(r RefusedWrite) bool { return r.Object == string(RecordKind)+"/"+RosterRecord(a.d.Name) })
}

// candidates returns the valid CAs with keys to sign with, newest first. It omits CAs that are closed to signing
// (NeverSigned), and those whose signing cannot be recorded now (recordIssue).
func (a *facts) candidates() []*pki.Certificate {
	return slices.DeleteFunc(a.d.Signer.slots(), func(ca *pki.Certificate) bool {
		unrecordable := a.rosterRefused() && (!a.issued() || same(ca, a.d.Signer.Next) && !a.mayHaveSigned(ca))
		return !ca.ValidAt(a.now) || a.neverSigned(ca) || unrecordable || a.d.Issuer != "" && !same(ca, a.d.Signer.Active)
	})
}

func (a *facts) rank(ca *pki.Certificate) int {
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

// olderThan reports whether ca is further from the newest than other. An unknown CA is the oldest.
func (a *facts) olderThan(ca, other *pki.Certificate) bool {
	return a.rank(ca) > a.rank(other)
}

// misfit is a leaf that verifiers would refuse if a certain CA signed it, and why: the CA's extensions restrict what
// it may sign.
type misfit struct {
	leaf string
	err  error
}

// refusal is the text about a misfit where a CA is refused for it.
func (m misfit) refusal(ca *pki.Certificate) string {
	return fmt.Sprintf("%s could not sign %s so that it is accepted: %v", ca.Subject, secret(m.leaf), m.err)
}

// misfitsOf returns the leaves that a CA cannot sign, ordered. The check of a restricted CA costs a signature for
// each leaf.
func misfitsOf(d *Domain, ca *pki.Certificate) []misfit {
	var out []misfit
	for i := range d.Leaves {
		l := &d.Leaves[i]
		if l.Unnamed {
			continue
		}
		err := pathMisfit(d, ca, &l.Policy.Profile)
		if err == nil {
			err = ca.CheckLeaf(l.Policy.Profile, d.Verifiers)
		}
		if err != nil {
			out = append(out, misfit{l.Name, err})
		}
	}
	return out
}

// abortIt is the safe way out of a rotation to an unwanted CA.
func abortIt(signer string) string {
	return fmt.Sprintf("abort the rotation with `kubectl certrotation abort %s`", signer)
}

// abortable reports whether a rotation is in flight and nothing depends on next. If the active CA has expired, next
// may go only if it cannot sign every leaf: the controller then makes another one.
//
// A CA that another issuer signs with already cannot be taken back.
func (a *facts) abortable() bool {
	s := &a.d.Signer
	return s.Issued == nil && s.Next != nil && a.liveUnder(s.Next) == 0 && (a.usable(s.Active) || a.nextUnfit)
}

// aborts reports whether an abort of the rotation in flight is requested and possible.
func (a *facts) aborts() bool { return a.abortRequest() != nil && a.abortable() }

// dropsNext reports whether next must go: on request, because a clock that was ahead made it, or because its issuer has
// replaced it.
func (a *facts) dropsNext() bool { return a.aborts() || a.madeAhead() || a.replacedByIssuer() }
