// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"crypto/x509"
	"fmt"
	"slices"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// check returns the invariant that is broken at this moment, nil if none is.
func (w *world) check() error {
	if w.unguarded {
		return nil
	}
	w.noteDeath()
	for _, one := range []func() error{w.checkHandshakes, w.checkBundles, w.checkContent, w.checkRemoved} {
		if err := one(); err != nil {
			return err
		}
	}
	return nil
}

// noteDeath finds the domains without a CA that can sign and without a valid leaf: no handshake can be cut off
// there.
func (w *world) noteDeath() {
	for _, d := range w.domains().Domains {
		h := w.history(d.Name)
		if h.dead {
			continue
		}
		h.dead = d.Signer.Active == nil || d.Signer.Active.Expired(w.clock.now())
		for i := range d.Leaves {
			l := &d.Leaves[i]
			presents := func(p *process) bool { return p.up && w.accepted(p.leaves[l.Name]) }
			if w.accepted(l.Certificate) || slices.ContainsFunc(w.processes, presents) {
				h.dead = false
			}
		}
		h.ahead = h.dead && w.ahead == decades
	}
}

// accepted reports whether a verifier may accept a leaf at this moment.
func (w *world) accepted(leaf *pki.Certificate) bool {
	now := w.clock.now()
	return leaf != nil && !leaf.Expired(now) && !w.orphaned(leaf, now)
}

func (w *world) history(domain string) *history {
	h := w.histories[domain]
	if h == nil {
		h = &history{stage: trust.Stable}
		w.histories[domain] = h
	}
	return h
}

// checkHandshakes checks that every verifier accepts, by its own clock, the leaves that processes present, and
// those that they may load at any moment.
func (w *world) checkHandshakes() error {
	for _, d := range w.domains().Domains {
		if w.history(d.Name).dead {
			continue
		}
		for _, v := range w.processes {
			if !v.up || v.pools[d.Name] == nil || v.pools[d.Name].ended(w.clock.now().Add(v.off)) {
				continue
			}
			if err := w.checkVerifier(d, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) checkVerifier(d *trust.Domain, v *process) error {
	for _, name := range v.verified(d.Name) {
		for _, holder := range w.processes {
			if c := holder.leaves[name]; holder.up && c != nil {
				if err := w.handshake(c, d, v); err != nil {
					return violated("Handshake", "%s refuses Secret/%s as %s presents it: %w", v.name, name, holder.name, err)
				}
			}
		}
		if l := leafOf(d, name); l != nil && l.Certificate != nil && l.Problem == nil {
			if err := w.handshake(l.Certificate, d, v); err != nil {
				return violated("TrustBeforeUse", "%s would refuse Secret/%s once it is loaded: %w", v.name, name, err)
			}
		}
	}
	return nil
}

// handshake verifies a leaf for each of its usages. Nothing is promised of an expired leaf. A leaf that is not
// valid yet is refused.
func (w *world) handshake(leaf *pki.Certificate, d *trust.Domain, v *process) error {
	now := w.clock.now().Add(v.off)
	if leaf.Expired(now) || w.orphaned(leaf, now) || w.fromTheFuture(leaf) || w.beyondHelp(leaf) {
		return nil
	}
	w.counts.handshakes++
	return w.verifyAll(leaf, v.pools[d.Name], v)
}

// strictly checks leaves from the future too: they may be valid again when the clocks jump again.
func (w *world) strictly(check func() error) error {
	returned := w.returned
	w.returned = false
	defer func() { w.returned = returned }()
	return check()
}

// fromTheFuture reports whether a leaf was made while all clocks were ahead, or was put past the guard before it
// was valid. Nothing in the world could know that.
func (w *world) fromTheFuture(leaf *pki.Certificate) bool {
	return w.early[leaf.Fingerprint] || w.returned && leaf.NotBefore.After(w.clock.now().Add(-maxOff))
}

func (w *world) verifyAll(leaf *pki.Certificate, anchors *pool, v *process) error {
	now := w.clock.now()
	if v != nil {
		now = now.Add(v.off)
	}
	for _, usage := range leaf.Usages {
		use := x509.ExtKeyUsageClientAuth
		if usage == pki.ServerAuth {
			use = x509.ExtKeyUsageServerAuth
		}
		if err := w.verifier.verify(leaf, anchors, use, now); err != nil {
			return err
		}
	}
	return nil
}

// checkBundles checks that no bundle is empty, and that a process that starts now accepts every live leaf.
func (w *world) checkBundles() error {
	for _, d := range w.domains().Domains {
		if !d.Bundle.Present || w.history(d.Name).dead {
			continue
		}
		if len(d.Bundle.Anchors) == 0 {
			return violated("NeverEmpty", "ConfigMap/%s is empty", d.Bundle.Name)
		}
		if err := w.checkStart(d, d.Bundle.Anchors, inSecret); err != nil {
			return err
		}
		for i := range d.Leaves {
			l := &d.Leaves[i]
			// A machine that was proven to be gone, and is back, has what is beside its leaf written anew.
			if l.Unnamed || len(besideLeaf(l)) == 0 || l.Certificate != nil && w.abandoned[l.Certificate.Fingerprint] {
				continue
			}
			if err := w.checkStart(d, l.Anchors, inSecret); err != nil {
				return fmt.Errorf("by what is beside Secret/%s: %w", l.Name, err)
			}
		}
		if anchors := w.readBundle(d); w.topology.aggregate && len(anchors) > 0 {
			if err := w.checkStart(d, anchors, func(l *trust.Leaf) *pki.Certificate { return w.readLeaf(d, l.Name) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// inSecret returns the leaf in its Secret, nil if it cannot be read.
func inSecret(l *trust.Leaf) *pki.Certificate {
	if l.Problem != nil {
		return nil
	}
	return l.Certificate
}

// noteAbandoned records the leaves whose last holder is proven to be gone. A machine that comes back with such a
// leaf is a new one: it cannot be cut off before it has a leaf of its own.
func (w *world) noteAbandoned(d *trust.Domain, l *trust.Leaf) {
	if l.Unnamed && l.Certificate != nil && w.gone(d, l.Name) {
		w.abandon(l.Certificate)
	}
}

// abandon promises nothing of a leaf any more.
func (w *world) abandon(leaf *pki.Certificate) {
	if w.abandoned == nil {
		w.abandoned = map[pki.Fingerprint]bool{}
	}
	w.abandoned[leaf.Fingerprint] = true
}

// gone reports whether all holders of a leaf that count are proven to be gone. Then no process starts with the
// leaf.
func (w *world) gone(d *trust.Domain, leaf string) bool {
	if d.Roster == nil {
		return false
	}
	absent := false
	for i := range d.Roster.Members {
		m := &d.Roster.Members[i]
		if slices.Contains(m.Presents, leaf) {
			if m.Absent == "" {
				return false
			}
			absent = true
		}
	}
	return absent
}

// checkStart checks that a process with these anchors accepts what running processes present, and what is read
// beside the anchors.
func (w *world) checkStart(d *trust.Domain, from []*pki.Certificate, read func(*trust.Leaf) *pki.Certificate) error {
	anchors := w.verifier.pool(from)
	for i := range d.Leaves {
		l := &d.Leaves[i]
		if w.deliveredIn(l) {
			continue
		}
		live := []*pki.Certificate{read(l)}
		w.noteAbandoned(d, l)
		for _, holder := range w.processes {
			if holder.up {
				live = append(live, holder.leaves[l.Name])
			}
		}
		for _, c := range live {
			if !w.accepted(c) || w.fromTheFuture(c) || w.beyondHelp(c) {
				continue
			}
			if err := w.verifyAll(c, anchors, nil); err != nil {
				return violated("AnchorInUse", "a process that starts now would refuse Secret/%s: %w", l.Name, err)
			}
		}
	}
	return nil
}

// checkContent checks that keys match their certificates, no leaf outlives its signer, and no CA is in two slots.
func (w *world) checkContent() error {
	for _, d := range w.domains().Domains {
		slots := map[pki.Fingerprint]bool{}
		for _, ca := range slices.Concat([]*pki.Certificate{d.Signer.Active, d.Signer.Next}, d.Signer.Previous) {
			if ca == nil {
				continue
			}
			if slots[ca.Fingerprint] {
				return violated("PairMatches", "%s is in two slots of Secret/%s", ca.Subject, d.Signer.Name)
			}
			slots[ca.Fingerprint] = true
		}
		for _, p := range []*trust.Problem{d.Signer.Problem, d.Bundle.Problem} {
			if p != nil {
				return violated("PairMatches", "%s %s", p.Object, p.Message)
			}
		}
		for i := range d.Leaves {
			if err := w.checkLeaf(d, &d.Leaves[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) checkLeaf(d *trust.Domain, l *trust.Leaf) error {
	if l.Problem != nil && w.spoilt[l.Name] {
		// It was spoilt past the guard, now or in what a backup restored.
		return nil
	}
	if l.Problem != nil {
		return violated("PairMatches", "%s %s", l.Problem.Object, l.Problem.Message)
	}
	if l.Certificate == nil {
		return nil
	}
	// Of CAs that were renewed with their key the last one counts. checkHandshakes covers processes that verify by
	// an earlier one.
	var last *pki.Certificate
	for _, ca := range slices.Concat(d.Bundle.Anchors, l.Authorities) {
		if l.Certificate.SignedBy(ca) && !ca.Expired(w.clock.now()) && (last == nil || ca.NotAfter.After(last.NotAfter)) {
			last = ca
		}
	}
	if last != nil && d.Issuer == "" && l.Certificate.NotAfter.After(last.NotAfter) {
		return violated("LeafWithinSigner", "Secret/%s ends %s, after %s", l.Name, l.Certificate.NotAfter, last.Subject)
	}
	return nil
}
