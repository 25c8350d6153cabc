// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

// Bounds of the parsers. What is beyond is ErrTooLarge, and is found before any arithmetic is done with it.
const (
	// MaxPEMBytes bounds the length of a PEM, in bytes: what fits into one Kubernetes object, which is 1.5 MiB, and a little.
	MaxPEMBytes = 2 << 20
	// MaxCertificates bounds the number of certificates in one PEM, and so the anchors of a bundle: no more could be proven,
	// since the record of a process holds the fingerprints of as many.
	MaxCertificates = 256
	// MaxChain bounds the certificates that follow one with a key, itself included. crypto/tls and OpenSSL verify no longer ones.
	MaxChain = 16
	// MaxCertificateBytes bounds the DER of one certificate: with all the names that it may have it is smaller.
	MaxCertificateBytes = 64 << 10
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
	// maxUnsigned bounds how many certificates are remembered not to have signed one.
	maxUnsigned = MaxCertificates
)
