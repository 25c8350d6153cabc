// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// CheckLeaf returns why one of the verifiers, which trust c, would refuse a leaf of the profile: name constraints, extended key
// usages, or an unknown critical extension. A stand-in for the leaf is verified under a stand-in for c with the same
// extensions; a fixed key signs both. It returns ErrRestricted, or ErrInvalidProfile if no such leaf can be
// made.
func (c *Certificate) CheckLeaf(profile Profile, by Verifiers) error {
	if !c.restricted {
		return nil
	}
	profile, err := profile.Normalized()
	if err != nil {
		return err
	}
	like, err := x509.ParseCertificate(c.der)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidCertificate, err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), RawSubject: like.RawSubject, NotBefore: like.NotBefore, NotAfter: like.NotAfter,
		ExtraExtensions: like.Extensions,
	}
	authority, err = signedInPlay(authority, authority)
	if err != nil {
		return err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: profile.subject(), NotBefore: like.NotBefore, NotAfter: like.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: extended(profile.Usages), BasicConstraintsValid: true,
		DNSNames: profile.DNSNames, IPAddresses: addresses(profile.IPAddresses),
	}
	profile.Identities.apply(leaf)
	leaf, err = signedInPlay(leaf, authority)
	if err != nil {
		return err
	}
	if err := permitted(leaf, authority, extended(profile.Usages), by, like.NotBefore.Add(time.Second)); err != nil {
		return fmt.Errorf("%w: %w", ErrRestricted, err)
	}
	return nil
}

// signedInPlay signs a stand-in with a fixed, well-known key. Its signature proves nothing.
func signedInPlay(template, parent *x509.Certificate) (*x509.Certificate, error) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	der, err := x509.CreateCertificate(nil, template, parent, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalidProfile, err)
	}
	return x509.ParseCertificate(der)
}

// restricts reports whether extensions of an authority limit the certificates that it may sign.
func restricts(cert *x509.Certificate) bool {
	return len(cert.ExtKeyUsage)+len(cert.UnknownExtKeyUsage)+len(cert.UnhandledCriticalExtensions) > 0 || constraintsOf(cert) != nil
}

// constraintsOf returns the value of the name constraints of an authority, nil if it has none.
func constraintsOf(cert *x509.Certificate) []byte {
	at := slices.IndexFunc(cert.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(nameConstraints) })
	if at < 0 {
		return nil
	}
	return cert.Extensions[at].Value
}

func isAlternativeNames(e pkix.Extension) bool { return e.Id.Equal(alternativeNames) }

// nameConstraints and alternativeNames are the extensions of RFC 5280, 4.2.1.10 and 4.2.1.6.
var nameConstraints, alternativeNames = []int{2, 5, 29, 30}, []int{2, 5, 29, 17}
