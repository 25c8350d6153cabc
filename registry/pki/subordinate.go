// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"fmt"
	"time"
)

// IssueAuthority makes a key and an authority certificate for it, signed by p. The chain of the result is the
// certificate of p, and its validity stays within the validity of p. It fails as NewAuthority and Issue do, and with
// ErrNotCA if p may sign leaves only.
func (p *Pair) IssueAuthority(profile Profile, now time.Time) (*Pair, error) {
	authority, err := p.issueAuthority(profile, now)
	if err != nil {
		return nil, fmt.Errorf("issue authority: %w", err)
	}
	return authority, nil
}

func (p *Pair) issueAuthority(profile Profile, now time.Time) (*Pair, error) {
	if err := p.checkSigner(now); err != nil {
		return nil, err
	}
	parent, err := x509.ParseCertificate(p.Certificate.der)
	if err != nil {
		return nil, fmt.Errorf("parse signer: %w", err)
	}
	if p.Certificate.pathLength == 0 {
		return nil, fmt.Errorf("certificate %s may sign leaves only: %w", p.Certificate.Fingerprint, ErrNotCA)
	}
	key, err := GenerateKey(profile.Key)
	if err != nil {
		return nil, err
	}
	template, err := authorityTemplate(key.Public(), profile, now)
	if err != nil {
		return nil, err
	}
	template.NotBefore, template.NotAfter = later(template.NotBefore, parent.NotBefore), earlier(template.NotAfter, parent.NotAfter)
	authority, err := sign(template, parent, key, p.key())
	if err != nil {
		return nil, err
	}
	if err := p.checkSubject(authority.Certificate); err != nil {
		return nil, err
	}
	authority.Chain = []*Certificate{p.Certificate}
	return authority, nil
}
