// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"unique"
)

// ParseCertificate reads one DER certificate and copies the input. It fails with ErrInvalidCertificate (also for
// bytes after the certificate) or ErrTooLarge.
func ParseCertificate(der []byte) (*Certificate, error) {
	if len(der) > maxCertificateBytes {
		return nil, fmt.Errorf("certificate of %d bytes: %w", len(der), ErrTooLarge)
	}
	cert, err := x509.ParseCertificate(bytes.Clone(der))
	if err != nil {
		return nil, fmt.Errorf("%w: %.*s", ErrInvalidCertificate, maxErrorText, err.Error())
	}
	if err := checkBounds(cert); err != nil {
		return nil, err
	}
	return facts(cert), nil
}

// checkBounds refuses a certificate that is costly to keep or to verify.
func checkBounds(cert *x509.Certificate) error {
	if key, ok := cert.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > maxRSABits {
		return fmt.Errorf("certificate with an RSA key of %d bits: %w", key.N.BitLen(), ErrTooLarge)
	}
	if names := len(cert.DNSNames) + len(cert.IPAddresses) + len(cert.EmailAddresses) + len(cert.URIs); names > MaxAlternativeNames {
		return fmt.Errorf("certificate with %d alternative names: %w", names, ErrTooLarge)
	}
	if size := max(len(cert.RawSubject), len(cert.RawIssuer)); size > maxNameBytes {
		return fmt.Errorf("certificate with a subject or issuer of %d bytes: %w", size, ErrTooLarge)
	}
	return nil
}

// facts keeps the fields that the model needs. It drops the parsed form, which is several times the size of the DER:
// the rare signature check parses again.
func facts(cert *x509.Certificate) *Certificate {
	serial, issuerIssuer := issuerSerial(cert)
	return &Certificate{
		Fingerprint:      fingerprintOf(cert.Raw),
		Subject:          cert.Subject.String(),
		Issuer:           shared(cert.Issuer.String()),
		CommonName:       cert.Subject.CommonName,
		IssuerCommonName: shared(cert.Issuer.CommonName),
		SubjectHash:      SubjectHash(cert.RawSubject),
		SerialNumber:     cert.SerialNumber.Text(16),
		KeyAlgorithm:     algorithmOf(cert.PublicKey),
		PublicKeyHash:    hexSHA256(cert.RawSubjectPublicKeyInfo),
		NotBefore:        cert.NotBefore,
		NotAfter:         cert.NotAfter,
		SubjectKeyID:     hex.EncodeToString(cert.SubjectKeyId),
		AuthorityKeyID:   shared(hex.EncodeToString(cert.AuthorityKeyId)),
		IsCA:             maySign(cert),
		DNSNames:         cert.DNSNames,
		IPAddresses:      addressTexts(cert),
		Organizations:    cert.Subject.Organization,
		Identities:       identitiesOf(cert),
		Unsaid:           unsaidOf(cert),
		Usages:           usagesOf(cert.ExtKeyUsage),
		issuerSerial:     serial,
		issuerIssuer:     issuerIssuer,
		restricted:       cert.IsCA && restricts(cert),
		pathLength:       cert.MaxPathLen,
		der:              cert.Raw,
		rawSubject:       cert.RawSubject,
		rawIssuer:        cert.RawIssuer,
		issuerName:       nameHash(&cert.Issuer),
		subjectName:      nameHash(&cert.Subject),
	}
}

// shared interns a text that the leaves of a CA have in common.
func shared(text string) string { return unique.Make(text).Value() }

func maySign(cert *x509.Certificate) bool {
	return cert.BasicConstraintsValid && cert.IsCA &&
		(cert.KeyUsage == 0 || cert.KeyUsage&x509.KeyUsageCertSign != 0)
}

func addressTexts(cert *x509.Certificate) []string {
	var texts []string
	for _, ip := range cert.IPAddresses {
		texts = append(texts, ip.String())
	}
	return texts
}
