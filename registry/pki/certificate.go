// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"sync/atomic"
	"time"
)

// Certificate is what was read from one X.509 certificate. It is made by the
// parsers of this package, is never modified afterwards, is safe for concurrent
// use and is shared by pointer.
type Certificate struct {
	// Fingerprint is the identity of the certificate.
	Fingerprint Fingerprint
	// Subject and Issuer are RFC 2253 text, for people. Two different names may
	// read the same; comparisons use SubjectHash or SignedBy.
	Subject, Issuer string
	// CommonName is the subject's common name, "" if it has none.
	CommonName string
	// IssuerCommonName is the issuer's common name, "" if it has none.
	IssuerCommonName string
	// SubjectHash is the SubjectHash of the raw subject.
	SubjectHash string
	// SerialNumber is lower-case hexadecimal without leading zeros.
	SerialNumber string
	// KeyAlgorithm describes the certified key, which may be weak or "unknown".
	KeyAlgorithm KeyAlgorithm
	// PublicKeyHash is the lower-case hexadecimal SHA-256 of the SubjectPublicKeyInfo.
	PublicKeyHash string
	// NotBefore and NotAfter are the first and the last second of validity, in UTC.
	NotBefore, NotAfter time.Time
	// SubjectKeyID and AuthorityKeyID are lower-case hexadecimal, "" if absent.
	SubjectKeyID, AuthorityKeyID string
	// IsCA tells that the certificate may sign others: its basic constraints say
	// so, and its key usage, if there is one, includes the signing of certificates.
	IsCA bool
	// DNSNames and IPAddresses are the subject alternative names, in the order
	// of the certificate; addresses as text.
	DNSNames, IPAddresses []string
	// Organizations are those of the subject.
	Organizations []string
	// Usages are the extended key usages of interest. Empty means that none of
	// them is named: either the certificate is meant for something else, or it
	// has no such extension and may be used for everything.
	Usages []Usage

	// issuerSerial is the serial number by which it names the certificate of its issuer, "" if it does not.
	issuerSerial string
	// restricted says that it is an authority, and that it has extensions by which verifiers may refuse what it has signed.
	restricted bool
	// der is owned by the certificate; rawSubject and rawIssuer point into it.
	der, rawSubject, rawIssuer []byte
	// signer is the last certificate that SignedBy proved to have signed this one.
	signer atomic.Pointer[Certificate]
	// unsigned are the CAs that SignedBy proved not to have signed this one.
	unsigned unsigned
}

// DER returns a copy of the encoded certificate.
func (c *Certificate) DER() []byte {
	return bytes.Clone(c.der)
}

// PEM returns the certificate as one CERTIFICATE block with a trailing newline.
func (c *Certificate) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockCertificate, Bytes: c.der})
}

// Equal reports whether both are the same certificate, byte for byte. Two nils are equal.
func (c *Certificate) Equal(other *Certificate) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.Fingerprint == other.Fingerprint
}

// ValidAt reports whether t lies within the validity, both ends included.
func (c *Certificate) ValidAt(t time.Time) bool {
	return !t.Before(c.NotBefore) && !t.After(c.NotAfter)
}

// Expired reports whether the validity has ended before t.
func (c *Certificate) Expired(t time.Time) bool {
	return t.After(c.NotAfter)
}

// Fingerprint is the lower-case hexadecimal SHA-256 of a certificate's DER: its identity.
type Fingerprint string

// SubjectHash returns the lower-case hexadecimal SHA-256 of a raw DER subject.
// A TLS server names the authorities that it accepts by exactly these bytes, so
// the hash joins what a handshake shows to a certificate. Empty input yields the
// hash of nothing, not "".
func SubjectHash(rawSubject []byte) string {
	return hexSHA256(rawSubject)
}

func fingerprintOf(der []byte) Fingerprint {
	return Fingerprint(hexSHA256(der))
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
