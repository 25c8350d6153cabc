// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// A signer may be an intermediate: its leaves carry the path, and verifiers have the root as their anchor.
//
//	tls.crt of a leaf   leaf, CA, upper intermediate
//	bundle, ca.crt      root
//
// So what is published, waited for and protected is the anchor of a CA, not the CA.

// AnchorOf returns what verifiers must have loaded to accept what a CA signs: the CA itself if it is self-signed or its
// root is not known, else its root. Only the signer's own Secret makes a root known (Signer.Issuers): what others
// publish, or carry beside a leaf, may vanish.
func (d *Domain) AnchorOf(ca *pki.Certificate) *pki.Certificate {
	if path := d.issuersOf(ca); len(path) > 0 {
		return path[len(path)-1]
	}
	return ca
}

// issuersOf returns the path from a CA to its root, without the CA. It is empty for a root, and for an unknown one.
func (d *Domain) issuersOf(ca *pki.Certificate) []*pki.Certificate {
	if ca == nil || len(d.Signer.Issuers) == 0 {
		return nil
	}
	return ca.Path(d.Signer.Issuers, d.Verifiers)
}

// Anchored reports whether verifiers with the bundle accept what a CA signs.
func (d *Domain) Anchored(ca *pki.Certificate) bool {
	return slices.ContainsFunc(d.Bundle.Anchors, ca.Equal) || slices.ContainsFunc(d.Bundle.Anchors, d.AnchorOf(ca).Equal)
}

// anchored is Domain.Anchored.
func (a *facts) anchored(ca *pki.Certificate) bool {
	return a.inBundle[ca.Fingerprint] || a.inBundle[a.d.AnchorOf(ca).Fingerprint]
}

// anchorsFor returns the anchors by which verifiers accept what a CA signs. An intermediate that was published before
// its root was known stays one.
func (a *facts) anchorsFor(ca *pki.Certificate) []*pki.Certificate {
	anchor := a.d.AnchorOf(ca)
	if same(anchor, ca) || !a.inBundle[ca.Fingerprint] {
		return []*pki.Certificate{anchor}
	}
	return []*pki.Certificate{anchor, ca}
}

// isRoot reports whether a certificate is the root of a CA in a slot, and not in a slot itself.
func (a *facts) isRoot(ca *pki.Certificate) bool {
	slots := a.d.Signer.slots()
	return len(a.d.Signer.Issuers) > 0 && !slices.ContainsFunc(slots, ca.Equal) &&
		slices.ContainsFunc(slots, func(below *pki.Certificate) bool { return same(ca, a.d.AnchorOf(below)) })
}

// isOnlyNexts reports whether next needs an anchor, and the active CA does not.
func (a *facts) isOnlyNexts(anchor *pki.Certificate) bool {
	s := &a.d.Signer
	return same(anchor, a.d.AnchorOf(s.Next)) && !same(anchor, a.d.AnchorOf(s.Active))
}

// chains reports whether every verifier that has an anchor accepts a leaf by it.
func (a *facts) chains(l *Leaf, anchor *pki.Certificate) bool {
	if l.Certificate.AcceptedBy(anchor, a.d.Verifiers) {
		return true
	}
	return slices.ContainsFunc(a.chainOf(l), func(link link) bool { return link.accepted && same(link.ca, anchor) })
}

// endOf returns when the first certificate on the path of a CA ends: no leaf of it is accepted longer.
func (a *facts) endOf(ca *pki.Certificate) time.Time {
	end := ca.NotAfter
	for _, issuer := range a.d.issuersOf(ca) {
		if issuer.NotAfter.Before(end) {
			end = issuer.NotAfter
		}
	}
	return end
}

// pathMisfit returns why no leaf of a CA would be accepted by its root, or why not one of a profile. An intermediate
// that is an anchor itself needs no root.
func pathMisfit(d *Domain, ca *pki.Certificate, profile *pki.Profile) error {
	path := d.issuersOf(ca)
	if len(path) == 0 || slices.ContainsFunc(d.Bundle.Anchors, ca.Equal) {
		return nil
	}
	if err := ca.CheckPath(path, d.Verifiers); err != nil {
		return err
	}
	for _, issuer := range path {
		if err := issuer.CheckLeaf(*profile, d.Verifiers); err != nil {
			return fmt.Errorf("its issuer %s: %w", issuer.Subject, err)
		}
	}
	return nil
}

// rootUnknown reports an intermediate that is published as an anchor itself, as its root is not known.
func (a *facts) rootUnknown() *Problem {
	s := &a.d.Signer
	for _, ca := range []*pki.Certificate{s.Active, s.Next} {
		if ca == nil || a.d.WrittenBy != "" || ca.SelfSigned() || len(a.d.issuersOf(ca)) > 0 {
			continue
		}
		return &Problem{Object: secret(s.Name), Reason: ReasonRootUnknown, Message: fmt.Sprintf(
			"%s is an intermediate, and its root is not known: it is published as an anchor itself, which OpenSSL refuses without "+
				"X509_V_FLAG_PARTIAL_CHAIN. Add its issuers, up to the root, to %[2]s under ca.crt", ca.Subject, secret(s.Name))}
	}
	return nil
}
