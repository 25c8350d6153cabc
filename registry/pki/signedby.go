// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"sync"
)

// SignedBy reports whether ca is a certificate authority whose key has signed c. A
// self-signed root is signed by itself.
//
// Names are compared byte for byte; only then is the signature checked, and the
// answer is remembered: a bundle may hold many anchors of one name. Key identifiers play no part, because crypto/x509
// accepts a chain whose identifiers disagree: an anchor that Go verifiers still use
// must not look unused. Dates are not considered: an expired anchor has still signed its
// leaves. Signature algorithms that crypto/x509 refuses (MD5, SHA-1) count as not
// signed, as no Go verifier would accept them.
func (c *Certificate) SignedBy(ca *Certificate) bool {
	if ca == nil || !ca.IsCA || !bytes.Equal(c.rawIssuer, ca.rawSubject) {
		return false
	}
	if known := c.signer.Load(); known != nil && known.Equal(ca) {
		return true
	}
	if c.unsigned.has(ca.Fingerprint) {
		return false
	}
	if !signatureHolds(c.der, ca.der) {
		c.unsigned.add(ca.Fingerprint)
		return false
	}
	c.signer.Store(ca)
	return true
}

// Identifies reports whether the authority key identifier of c matches ca: key identifier and serial number, as far as both have them.
// If it does not, OpenSSL does not take ca for the issuer even if its key signed c (X509_check_akid); crypto/x509 does not ask.
func (c *Certificate) Identifies(ca *Certificate) bool {
	return (c.AuthorityKeyID == "" || ca.SubjectKeyID == "" || c.AuthorityKeyID == ca.SubjectKeyID) &&
		(c.issuerSerial == "" || c.issuerSerial == ca.SerialNumber)
}

// issuerSerial is the serial number of the certificate of its issuer that a certificate names, as SerialNumber, "" if it names none.
func issuerSerial(cert *x509.Certificate) string {
	for _, extension := range cert.Extensions {
		if !extension.Id.Equal(oidAuthorityKeyID()) {
			continue
		}
		var named struct {
			KeyID  []byte        `asn1:"optional,tag:0"`
			Issuer asn1.RawValue `asn1:"optional,tag:1"`
			Serial *big.Int      `asn1:"optional,tag:2"`
		}
		if _, err := asn1.Unmarshal(extension.Value, &named); err == nil && named.Serial != nil {
			return named.Serial.Text(16)
		}
	}
	return ""
}

// signatureHolds checks the signature of one DER certificate by the key of
// another. What does not parse is not signed.
func signatureHolds(child, parent []byte) bool {
	signed, err := x509.ParseCertificate(child)
	if err != nil {
		return false
	}
	signer, err := x509.ParseCertificate(parent)
	if err != nil {
		return false
	}
	return signed.CheckSignatureFrom(signer) == nil
}

// unsigned remembers CAs that have the name of an issuer but have not signed the certificate. The zero value is ready.
type unsigned struct {
	mu   sync.Mutex
	seen map[Fingerprint]struct{}
}

func (u *unsigned) has(ca Fingerprint) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.seen[ca]
	return ok
}

// add remembers a CA. When there are too many, all others are forgotten and will be checked again.
func (u *unsigned) add(ca Fingerprint) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.seen == nil || len(u.seen) >= maxUnsigned {
		u.seen = map[Fingerprint]struct{}{}
	}
	u.seen[ca] = struct{}{}
}
