// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// resignBackdate is the minimum time by which a re-signed certificate begins before now, unless a tenth of its life
// is less.
const resignBackdate = time.Hour

// Resign makes a new certificate for the key and subject of a self-signed authority, with another validity. It is for
// an authority that expired before it was replaced. Names, key identifiers and all other extensions stay. So
// everything that p or the result signs chains to either.
//
// Nothing in it is random. The new validity is two lives of the old certificate, and begins whole lives after (or
// before) its end. It covers now and leaves at least nine tenths of a life. Callers with the same pair within the
// same life get the same bytes, even on machines that do not share state. This needs a key that signs
// deterministically, as keys of NewAuthority do. Otherwise the certificates are interchangeable.
//
// It fails with ErrNoKey, ErrNotCA, ErrInvalidCertificate, or, for an authority that another one signed,
// ErrNotSelfSigned.
func (p *Pair) Resign(now time.Time) (*Pair, error) {
	key, err := p.signer()
	if err != nil {
		return nil, fmt.Errorf("re-sign authority: %w", err)
	}
	if !p.Certificate.IsCA {
		return nil, fmt.Errorf("re-sign certificate %s: %w", p.Certificate.Fingerprint, ErrNotCA)
	}
	if !p.Certificate.SignedBy(p.Certificate) {
		return nil, fmt.Errorf("re-sign certificate %s of issuer %.*q: %w", p.Certificate.Fingerprint, maxErrorText,
			p.Certificate.Issuer, ErrNotSelfSigned)
	}
	old, err := x509.ParseCertificate(p.Certificate.der)
	if err != nil {
		return nil, fmt.Errorf("re-sign certificate %s: %w", p.Certificate.Fingerprint, ErrInvalidCertificate)
	}
	template := resignTemplate(old, now)
	// Without a source of randomness ECDSA is deterministic. RSA (PKCS #1 v1.5) and Ed25519 always are.
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("re-sign certificate %s: %w", p.Certificate.Fingerprint, err)
	}
	cert, err := ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("re-sign certificate %s: %w", p.Certificate.Fingerprint, err)
	}
	return &Pair{Certificate: cert, key: seal(key)}, nil
}

// resignTemplate keeps everything but serial number, validity and signature algorithm.
func resignTemplate(old *x509.Certificate, now time.Time) *x509.Certificate {
	notBefore, notAfter := resignWindow(old.NotBefore, old.NotAfter, now)
	template := &x509.Certificate{
		RawSubject:            old.RawSubject,
		Subject:               old.Subject,
		NotBefore:             notBefore,
		NotAfter:              notAfter,
		KeyUsage:              old.KeyUsage,
		BasicConstraintsValid: true,
		IsCA:                  true,
		SubjectKeyId:          old.SubjectKeyId,
	}
	sum := sha256.Sum256(slices.Concat([]byte("certrotation re-signed"), old.Raw, []byte(notBefore.Format(time.RFC3339))))
	sum[0] &= 0x7f
	template.SerialNumber = new(big.Int).SetBytes(sum[:20])
	for _, extension := range old.Extensions {
		// An authority key identifier may name the serial number of the old certificate, which some verifiers
		// compare.
		if !extension.Id.Equal(oidAuthorityKeyID()) {
			template.ExtraExtensions = append(template.ExtraExtensions, extension)
		} else if len(old.SubjectKeyId) > 0 {
			template.AuthorityKeyId = bytes.Clone(old.SubjectKeyId)
		}
	}
	return template
}

func oidAuthorityKeyID() asn1.ObjectIdentifier { return asn1.ObjectIdentifier{2, 5, 29, 35} }

// resignWindow returns the validity of a re-signed certificate: two lives of the old one, whole lives after its end.
func resignWindow(notBefore, notAfter, now time.Time) (from, until time.Time) {
	life := max(notAfter.Sub(notBefore).Truncate(time.Second), time.Second)
	since := now.Add(-min(resignBackdate, life/10)).Sub(notAfter)
	lives := since / life
	if since < 0 && since%life != 0 {
		lives--
	}
	from = notAfter.Add(lives * life)
	return from.UTC(), from.Add(2 * life).UTC()
}
