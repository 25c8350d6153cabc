// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// afterWrite checks every single write of a leader, as a crash may follow it.
func (w *world) afterWrite(l *leader, object string, before *inventory.Namespace) error {
	w.objectWritten()
	if w.unguarded {
		return nil
	}
	w.noteDeath()
	for _, was := range before.Domains {
		is := w.domain(was.Name)
		if is == nil {
			continue
		}
		if err := w.checkSlots(was, is); err != nil {
			return err
		}
		if err := checkShrinking(was, is); err != nil {
			return err
		}
		if err := w.judge(l, object, was, is); err != nil {
			return err
		}
	}
	return w.check()
}

// objectWritten records that processes have something to load.
func (w *world) objectWritten() {
	w.publishes()
	for _, p := range w.processes {
		if p.behind.IsZero() {
			p.behind = w.clock.now()
		}
	}
}

// checkSlots checks what a single write of a leader has done to a signer.
func (w *world) checkSlots(was, is *trust.Domain) error {
	old, s := &was.Signer, &is.Signer
	// The CA must be usable by every clock, as the leader's may be ahead.
	usable := func(ca *pki.Certificate) bool { return ca != nil && !ca.Expired(w.clock.now().Add(maxOff)) }
	switch {
	case usable(old.Next) && s.Next != nil && !old.Next.Equal(s.Next):
		return violated("OneRotation", "%s was replaced by %s in the middle of a rotation", old.Next.Subject, s.Next.Subject)
	case old.Next == nil && s.Next != nil && usable(old.Active) && len(old.Previous) > 0 && s.Issued == nil:
		return violated("OneRotation", "a second rotation has begun before %s was gone", old.Previous[0].Subject)
	case old.Next != nil && s.Next == nil && !old.Next.Equal(s.Active):
		w.noteAborted(is, old.Next)
		// A process may still present a replaced leaf of that CA. Its anchor stays until that ends.
		if name := w.inSecrets(is, old.Next); name != "" {
			return violated("AnchorInUse", "%s was dropped, and Secret/%s is signed by it", old.Next.Subject, name)
		}
	}
	for _, ca := range old.Previous {
		if name := w.signedBy(is, ca); name != "" && !slices.ContainsFunc(s.Previous, ca.Equal) && !sameKey(ca, s.Active) {
			return violated("AnchorInUse", "the key of %s was destroyed, and Secret/%s is signed by it", ca.Subject, name)
		}
	}
	if old.Active.Equal(s.Active) || s.Active == nil || !usable(old.Active) && old.Next == nil || w.history(is.Name).dead {
		return nil
	}
	if !old.Next.Equal(s.Active) {
		return violated("TrustBeforeUse", "%s became active without having been next", s.Active.Subject)
	}
	return w.checkPromotion(is, s.Active)
}

// sameKey reports whether two CAs have the same key: one was renewed as the other.
func sameKey(a, b *pki.Certificate) bool {
	return a != nil && b != nil && a.PublicKeyHash == b.PublicKeyHash
}

// checkPromotion checks that every running verifier has loaded the CA that signs from now on.
func (w *world) checkPromotion(d *trust.Domain, ca *pki.Certificate) error {
	for _, p := range w.processes {
		if !p.up || p.pools[d.Name] == nil || len(p.verified(d.Name)) == 0 {
			continue
		}
		if !slices.ContainsFunc(p.pools[d.Name].anchors, ca.Equal) {
			return violated("TrustBeforeUse", "%s was promoted, and %s has not loaded it", ca.Subject, p.name)
		}
	}
	return nil
}

// inSecrets returns the name of a live leaf in a Secret that a CA has signed, "" if there is none.
func (w *world) inSecrets(d *trust.Domain, ca *pki.Certificate) string {
	for i := range d.Leaves {
		if c := d.Leaves[i].Certificate; w.accepted(c) && c.SignedBy(ca) {
			return d.Leaves[i].Name
		}
	}
	return ""
}

// signedBy returns the name of a live leaf, in a Secret or presented, that a CA has signed, "" if there is none.
func (w *world) signedBy(d *trust.Domain, ca *pki.Certificate) string {
	for i := range d.Leaves {
		l := &d.Leaves[i]
		all := []*pki.Certificate{l.Certificate}
		for _, p := range w.processes {
			if p.up {
				all = append(all, p.leaves[l.Name])
			}
		}
		for _, c := range all {
			if w.accepted(c) && !w.beyondHelp(c) && c.SignedBy(ca) {
				return l.Name
			}
		}
	}
	return ""
}

// checkShrinking checks that a bundle keeps the CAs that sign, whatever else went wrong.
func checkShrinking(was, is *trust.Domain) error {
	if !is.Bundle.Present {
		return nil
	}
	for _, ca := range was.Bundle.Anchors {
		if (ca.Equal(is.Signer.Active) || ca.Equal(is.Signer.Next)) && !slices.ContainsFunc(is.Bundle.Anchors, ca.Equal) {
			return violated("NeverEmpty", "ConfigMap/%s has lost %s, which signs", is.Bundle.Name, ca.Subject)
		}
	}
	return nil
}

// judge asks the guard about a write of a leader that was decided on the present state, by the clock of the leader and
// what the leader knows of it.
func (w *world) judge(l *leader, object string, was, is *trust.Domain) error {
	if !w.judging || !l.undisturbed || w.history(is.Name).dead {
		return nil
	}
	before, after := *w.seen(was), *w.seen(is)
	before.ClockSkew, after.ClockSkew = l.off, l.off
	if found := trust.Judge(&before, &after, w.clock.now().Add(l.off)); len(found) > 0 {
		return violated("Guard", "the guard would refuse that %s writes %s: %s: %s", l.name, object, found[0].Invariant, found[0].Message)
	}
	return nil
}
