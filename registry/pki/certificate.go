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

// Certificate holds the parsed facts of one X.509 certificate. Only the parsers of this package make it. It never
// changes, is safe for concurrent use, and is shared by pointer.
type Certificate struct {
	// Fingerprint is the identity of the certificate.
	Fingerprint Fingerprint
	// Subject and Issuer are RFC 2253 text, for people. Different names may read the same: compare with SubjectHash
	// or SignedBy.
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
	// IsCA reports whether the certificate may sign others: its basic constraints allow it, and so does its key
	// usage, if there is one.
	IsCA bool
	// DNSNames and IPAddresses (as text) are the subject alternative names, in the order of the certificate.
	DNSNames, IPAddresses []string
	// Organizations are the organizations of the subject.
	Organizations []string
	// Identities are the other names that a Profile can say, and Unsaid is what it cannot say, for people.
	Identities Identities
	Unsaid     []string
	// Usages are those that certrotation issues, as far as the certificate names them. Empty means that it names none:
	// it is for another purpose, or it has no such extension and may be used for everything.
	Usages []Usage

	// issuerSerial is the serial number of its issuer's certificate that the certificate names, "" if it names none.
	// issuerIssuer is who signed that one, as a raw name, nil if it names none.
	issuerSerial string
	issuerIssuer []byte
	// restricted marks an authority with extensions for which verifiers may refuse its leaves.
	restricted bool
	// pathLength is how many authorities may be below an authority, negative for any number.
	pathLength int
	// der is owned by the certificate; rawSubject and rawIssuer point into it.
	der, rawSubject, rawIssuer []byte
	// signer is the first CA that SignedBy proved to have signed this certificate. Few have others: another
	// certificate of the same key, or a stranger of the same name.
	signer  atomic.Pointer[Certificate]
	answers answers
	// issuerName and subjectName are the nameHash of both.
	issuerName, subjectName uint64
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

// Expired reports whether the validity ended before t.
func (c *Certificate) Expired(t time.Time) bool {
	return t.After(c.NotAfter)
}

// Fingerprint is the lower-case hexadecimal SHA-256 of a certificate's DER: its identity.
type Fingerprint string

// SubjectHash returns the lower-case hexadecimal SHA-256 of a raw DER subject. A TLS server names the CAs that it
// accepts by these bytes, so the hash matches a handshake to a certificate. Empty input yields the hash of nothing,
// not "".
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
