// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"fmt"
	"time"
)

// Certify is Issue for a key that somebody else holds: it signs a leaf for the public
// key and returns it. Key in the profile is ignored, the algorithm is that of the key,
// which has to be Valid: a weak key is refused with ErrKeyAlgorithm.
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
	if bytes.Equal(leaf.rawSubject, p.Certificate.rawSubject) {
		return nil, fmt.Errorf("%w: the subject is that of the signer", ErrInvalidProfile)
	}
	if leaf.PublicKeyHash == p.Certificate.PublicKeyHash {
		return nil, fmt.Errorf("%w: the key is that of the signer", ErrInvalidProfile)
	}
	return leaf, nil
}

// AlgorithmOf names the algorithm of a public key, which may be weak or "unknown".
func AlgorithmOf(public crypto.PublicKey) KeyAlgorithm { return algorithmOf(public) }
