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

// SignedBy reports whether ca is a certificate authority whose key signed c. A self-signed root is signed by itself.
//
// Names are compared byte for byte, then the signature is checked. The answer is remembered, because a bundle may
// hold many anchors of one name. Key identifiers do not count: crypto/x509 accepts chains whose identifiers disagree,
// so such an anchor is still in use. Dates do not count either: an expired anchor has still signed its leaves.
// Signatures that crypto/x509 refuses (MD5, SHA-1) count as not signed: no Go verifier accepts them.
func (c *Certificate) SignedBy(ca *Certificate) bool {
	if ca == nil || !ca.IsCA || !bytes.Equal(c.rawIssuer, ca.rawSubject) {
		return false
	}
	if known := c.signer.Load(); known != nil && known.Equal(ca) {
		return true
	}
	if signed, known := c.answers.get(hasSigned, 0, ca); known {
		return signed
	}
	signed := signatureHolds(c.der, ca.der)
	if !signed || !c.signer.CompareAndSwap(nil, ca) {
		c.answers.add(hasSigned, 0, ca, signed)
	}
	return signed
}

// Identifies reports whether the authority key identifier of c matches the key identifier, and the issuer and serial
// number, of ca, as far as both have them and one of the verifiers looks. If not, that verifier does not take ca for the issuer even if
// its key signed c (X509_check_akid of OpenSSL). crypto/x509 looks at neither, GnuTLS and NSS at no serial number.
func (c *Certificate) Identifies(ca *Certificate, by Verifiers) bool {
	byKey := c.AuthorityKeyID == "" || ca.SubjectKeyID == "" || c.AuthorityKeyID == ca.SubjectKeyID
	bySerial := c.issuerSerial == "" || c.issuerSerial == ca.SerialNumber && (c.issuerIssuer == nil || bytes.Equal(c.issuerIssuer, ca.rawIssuer))
	return (byKey || !by.any(OpenSSL|BoringSSL|GnuTLS|NSS|Java)) && (bySerial || !by.any(OpenSSL|BoringSSL|Java))
}

// issuerSerial returns the serial number of the issuer's certificate that cert names, in the form of SerialNumber, ""
// if none, and the raw name of that one's issuer, nil if none.
func issuerSerial(cert *x509.Certificate) (serial string, issuer []byte) {
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
			return named.Serial.Text(16), directoryName(named.Issuer.Bytes)
		}
	}
	return "", nil
}

// directoryName returns the first of general names, nil if it is not the name of a directory.
func directoryName(general []byte) []byte {
	var name asn1.RawValue
	if _, err := asn1.Unmarshal(general, &name); err != nil || name.Class != asn1.ClassContextSpecific || name.Tag != 4 {
		return nil
	}
	return name.Bytes
}

// signatureHolds reports whether the key of one DER certificate signed another. DER that does not parse is not
// signed.
func signatureHolds(child, parent []byte) bool {
	signed, signer, err := parseBoth(child, parent)
	return err == nil && signed.CheckSignatureFrom(signer) == nil
}

// parseBoth parses the DER of a certificate and of its signer again: Certificate keeps no parsed form.
func parseBoth(child, parent []byte) (signed, signer *x509.Certificate, err error) {
	if signed, err = x509.ParseCertificate(child); err != nil {
		return nil, nil, err
	}
	signer, err = x509.ParseCertificate(parent)
	return signed, signer, err
}

// relation is a question about a certificate and a CA.
type relation byte

const (
	hasSigned relation = iota
	mayHaveSigned
	permits
)

// answers remembers what was found out about a certificate and CAs. The zero value is ready.
type answers struct {
	mu    sync.Mutex
	known map[answer]bool
}

type answer struct {
	relation relation
	by       Verifiers
	ca       Fingerprint
}

func (a *answers) get(of relation, by Verifiers, ca *Certificate) (yes, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	yes, known = a.known[answer{of, by, ca.Fingerprint}]
	return yes, known
}

// add remembers an answer. At the limit it forgets all others, which are then found out again.
func (a *answers) add(of relation, by Verifiers, ca *Certificate, yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxAnswers {
		a.known = map[answer]bool{}
	}
	a.known[answer{of, by, ca.Fingerprint}] = yes
}
