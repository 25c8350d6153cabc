// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// validity is the result of a verification, and the time in which it holds.
type validity struct {
	from, to time.Time
	err      error
}

// check returns the promise to running processes that is broken now. It judges by crypto/x509, not by the model.
func (f *fleet) check() error {
	return errors.Join(f.checkHandshakes(), f.checkBundle(), f.checkSecrets())
}

// checkHandshakes requires that each process accepts every leaf presented to it.
func (f *fleet) checkHandshakes() error {
	for _, holder := range f.processes {
		for name, c := range holder.leaves {
			if !c.ValidAt(f.now) {
				continue
			}
			for _, verifier := range f.processes {
				if verifier.down || !slices.Contains(verifier.party.Verifies, name) {
					continue
				}
				if err := f.verify(c, verifier.trust); err != nil {
					return fmt.Errorf("%s refuses the leaf of %s: %w", verifier.member.Name, holder.member.Name, err)
				}
			}
		}
	}
	return nil
}

// checkBundle requires that the bundle is not empty, and that a process which starts now accepts every presented
// leaf.
func (f *fleet) checkBundle() error {
	if !f.d.Bundle.Present {
		return nil
	}
	if len(f.d.Bundle.Anchors) == 0 {
		return errors.New("the bundle is empty")
	}
	if err := f.checkStart(f.d.Bundle.Anchors); err != nil {
		return fmt.Errorf("a process that starts now %w", err)
	}
	for i := range f.d.Leaves {
		l := &f.d.Leaves[i]
		if len(l.Anchors) == 0 {
			continue
		}
		if err := f.checkStart(l.Anchors); err != nil {
			return fmt.Errorf("a process that starts now with the Secret of %s %w", l.Name, err)
		}
	}
	return nil
}

// checkStart requires that every presented leaf is accepted by these anchors.
func (f *fleet) checkStart(anchors []*pki.Certificate) error {
	for _, holder := range f.processes {
		for _, c := range holder.leaves {
			if !c.ValidAt(f.now) {
				continue
			}
			if err := f.verify(c, anchors); err != nil {
				return fmt.Errorf("refuses the leaf of %s: %w", holder.member.Name, err)
			}
		}
	}
	return nil
}

// checkSecrets requires that no leaf outlives its signer, that the key of its signer exists, and that no CA is in
// two slots.
func (f *fleet) checkSecrets() error {
	slots := map[pki.Fingerprint]bool{}
	for _, ca := range append([]*pki.Certificate{f.d.Signer.Active, f.d.Signer.Next}, f.d.Signer.Previous...) {
		if ca == nil {
			continue
		}
		if slots[ca.Fingerprint] {
			return fmt.Errorf("%s is in two slots", ca.Subject)
		}
		slots[ca.Fingerprint] = true
	}
	for i := range f.d.Leaves {
		l := &f.d.Leaves[i]
		if l.Certificate == nil || l.Certificate.Expired(f.now) {
			continue
		}
		ca := l.Authorities[0]
		switch {
		case !l.Certificate.SignedBy(ca):
			return fmt.Errorf("leaf %s carries a CA that did not sign it", l.Name)
		case l.Certificate.NotAfter.After(ca.NotAfter):
			return fmt.Errorf("leaf %s outlives its signer", l.Name)
		case !f.orphaned && !slots[ca.Fingerprint]:
			return fmt.Errorf("leaf %s is signed by %s, whose key is gone", l.Name, ca.Subject)
		}
	}
	return nil
}

// verify caches x509 verification until a certificate of the chain begins or ends.
func (f *fleet) verify(leaf *pki.Certificate, anchors []*pki.Certificate) error {
	var key strings.Builder
	key.WriteString(string(leaf.Fingerprint))
	for _, ca := range anchors {
		key.WriteString(string(ca.Fingerprint))
	}
	if v, ok := f.verified[key.String()]; ok && !f.now.Before(v.from) && !f.now.After(v.to) {
		return v.err
	}
	v := f.verifyNow(leaf, anchors)
	f.verified[key.String()] = v
	return v.err
}

func (f *fleet) verifyNow(leaf *pki.Certificate, anchors []*pki.Certificate) validity {
	pool := x509.NewCertPool()
	for _, ca := range anchors {
		c, err := x509.ParseCertificate(ca.DER())
		if err != nil {
			return validity{err: err}
		}
		pool.AddCert(c)
	}
	c, err := x509.ParseCertificate(leaf.DER())
	if err != nil {
		return validity{err: err}
	}
	chains, err := c.Verify(x509.VerifyOptions{
		Roots: pool, CurrentTime: f.now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return validity{from: f.now, to: f.now, err: err}
	}
	v := validity{from: leaf.NotBefore, to: leaf.NotAfter}
	for _, link := range chains[0] {
		if link.NotBefore.After(v.from) {
			v.from = link.NotBefore
		}
		if link.NotAfter.Before(v.to) {
			v.to = link.NotAfter
		}
	}
	return v
}
