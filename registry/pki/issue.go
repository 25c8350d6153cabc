// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"fmt"
	"net"
	"time"
)

// Issue makes a key and a leaf certificate for it, signed by p. The chain of the result is the certificate of p, and for an
// intermediate its issuers in the chain of p without the root, which verifiers have as an anchor.
//
// The leaf starts Backdate before now but not before its signer. It ends after Validity but not after its signer.
// Issue fails with ErrNoKey, ErrNotCA, ErrSignerExpired, ErrInvalidProfile or ErrKeyAlgorithm. It accepts a signer
// with a weak key: an adopted one must stay usable until it is replaced in order.
func (p *Pair) Issue(profile Profile, now time.Time) (*Pair, error) {
	profile, err := profile.Normalized()
	if err != nil {
		return nil, fmt.Errorf("issue leaf: %w", err)
	}
	if err := profile.checkLeaf(); err != nil {
		return nil, fmt.Errorf("issue leaf: %w", err)
	}
	if err := p.checkSigner(now); err != nil {
		return nil, fmt.Errorf("issue leaf: %w", err)
	}
	leaf, err := p.issue(profile, now)
	if err != nil {
		return nil, fmt.Errorf("issue leaf: %w", err)
	}
	return leaf, nil
}

// checkSigner returns an error unless p can sign at now, and its certificate is still valid after now.
func (p *Pair) checkSigner(now time.Time) error {
	if p.key == nil || p.Certificate == nil {
		return ErrNoKey
	}
	if !p.Certificate.IsCA {
		return fmt.Errorf("certificate %s: %w", p.Certificate.Fingerprint, ErrNotCA)
	}
	if !p.Certificate.ValidAt(now) || !p.Certificate.NotAfter.After(now) {
		return fmt.Errorf("certificate %s, valid from %s to %s: %w", p.Certificate.Fingerprint,
			p.Certificate.NotBefore.Format(time.RFC3339), p.Certificate.NotAfter.Format(time.RFC3339), ErrSignerExpired)
	}
	return nil
}

func (p *Pair) issue(profile Profile, now time.Time) (*Pair, error) {
	parent, err := x509.ParseCertificate(p.Certificate.der)
	if err != nil {
		return nil, fmt.Errorf("parse signer: %w", err)
	}
	key, err := GenerateKey(profile.Key)
	if err != nil {
		return nil, err
	}
	leaf, err := sign(leafTemplate(profile, p.Certificate, now), parent, key, p.key())
	if err != nil {
		return nil, err
	}
	if err := p.checkSubject(leaf.Certificate); err != nil {
		return nil, err
	}
	leaf.Chain = append([]*Certificate{p.Certificate}, p.Certificate.Path(p.Chain, 0)...)
	if root := len(leaf.Chain) - 1; root > 0 {
		leaf.Chain = leaf.Chain[:root]
	}
	return leaf, nil
}

// checkSubject refuses a certificate with the subject of its signer: path builders take it for self-signed.
func (p *Pair) checkSubject(signed *Certificate) error {
	if bytes.Equal(signed.rawSubject, p.Certificate.rawSubject) {
		return fmt.Errorf("%w: the subject is that of the signer", ErrInvalidProfile)
	}
	return nil
}

func leafTemplate(p Profile, signer *Certificate, now time.Time) *x509.Certificate {
	usage := x509.KeyUsageDigitalSignature
	if p.Key.isRSA() {
		usage |= x509.KeyUsageKeyEncipherment
	}
	out := &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               p.subject(),
		NotBefore:             later(now.Add(-p.Backdate), signer.NotBefore).UTC(),
		NotAfter:              earlier(now.Add(p.Validity), signer.NotAfter).UTC(),
		KeyUsage:              usage,
		ExtKeyUsage:           extended(p.Usages),
		BasicConstraintsValid: true,
		DNSNames:              p.DNSNames,
		IPAddresses:           addresses(p.IPAddresses),
	}
	p.Identities.apply(out)
	return out
}

// addresses converts valid address texts to their binary form.
func addresses(texts []string) []net.IP {
	var out []net.IP
	for _, text := range texts {
		out = append(out, net.ParseIP(text))
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Certify is Issue for a key that the caller does not hold: it signs a leaf for the public key. It ignores the key
// algorithm of the profile. The algorithm of the public key must be Valid, else Certify fails with ErrKeyAlgorithm.
func (p *Pair) Certify(profile Profile, public crypto.PublicKey, now time.Time) (*Certificate, error) {
	leaf, err := p.certify(profile, public, now)
	if err != nil {
		return nil, fmt.Errorf("certify key: %w", err)
	}
	return leaf, nil
}

func (p *Pair) certify(profile Profile, public crypto.PublicKey, now time.Time) (*Certificate, error) {
	profile.Key = algorithmOf(public)
	profile, err := profile.Normalized()
	if err != nil {
		return nil, err
	}
	if err := profile.checkLeaf(); err != nil {
		return nil, err
	}
	if err := p.checkSigner(now); err != nil {
		return nil, err
	}
	parent, err := x509.ParseCertificate(p.Certificate.der)
	if err != nil {
		return nil, fmt.Errorf("parse signer: %w", err)
	}
	leaf, err := signPublic(leafTemplate(profile, p.Certificate, now), parent, public, p.key())
	if err != nil {
		return nil, err
	}
	if err := p.checkSubject(leaf); err != nil {
		return nil, err
	}
	if leaf.PublicKeyHash == p.Certificate.PublicKeyHash {
		return nil, fmt.Errorf("%w: the key is that of the signer", ErrInvalidProfile)
	}
	return leaf, nil
}

// AlgorithmOf names the algorithm of a public key, which may be weak or "unknown".
func AlgorithmOf(public crypto.PublicKey) KeyAlgorithm { return algorithmOf(public) }
