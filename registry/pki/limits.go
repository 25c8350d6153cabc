// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

// Bounds of the parsers. Input beyond them fails with ErrTooLarge before any costly arithmetic is done with it.
const (
	// MaxPEMBytes bounds the length of a PEM, in bytes: what fits into one Kubernetes object, which is 1.5 MiB, and a little.
	MaxPEMBytes = 2 << 20
	// MaxCertificates bounds the number of certificates in one PEM, and so the anchors of a bundle. The evidence record
	// of a process holds as many fingerprints, so that more anchors could not be proven.
	MaxCertificates = 256
	// MaxChain bounds the length of the chain that is stored with a key. crypto/tls and OpenSSL do not verify longer
	// ones.
	MaxChain = 16
	// maxCertificateBytes bounds the DER of one certificate, which is smaller even with all the names that it may have.
	maxCertificateBytes = 64 << 10
	// MaxAlternativeNames bounds the names and addresses of one certificate.
	MaxAlternativeNames = 1024

	// maxNameBytes bounds the subject and the issuer, each in DER. The texts of both are kept for people, and crypto/x509 makes
	// them in a time that grows with the square of their length.
	maxNameBytes = 4 << 10
	// maxRSABits bounds the RSA keys that are accepted at all: the cost of one verification grows with the square of the
	// modulus, which the author of a certificate chooses. crypto/tls has the same bound.
	maxRSABits = 8192
	// maxKeyDER bounds a private key in bytes; PKCS#8 of maxRSABits is 4.7 KiB.
	maxKeyDER = 6 << 10
	// maxErrorText bounds what is repeated of an X.509 parse error, which may
	// quote a name out of the certificate.
	maxErrorText = 200
	// maxUnsigned bounds for how many CAs it is remembered that they have not signed a certificate.
	maxUnsigned = MaxCertificates
)
