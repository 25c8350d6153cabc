// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

// Bounds of the parsers. Input beyond them fails with ErrTooLarge before any costly arithmetic.
const (
	// MaxPEMBytes bounds a PEM, in bytes: a Kubernetes object holds at most 1.5 MiB, plus some margin.
	MaxPEMBytes = 2 << 20
	// MaxCertificates bounds the certificates of one PEM, and so the anchors of a bundle. The evidence record of a
	// process holds no more fingerprints, so more anchors could not be proven.
	MaxCertificates = 256
	// MaxChain bounds the chain that is stored with a key. crypto/tls and OpenSSL verify no longer ones.
	MaxChain = 16
	// maxCertificateBytes bounds the DER of one certificate. One with all allowed names is still smaller.
	maxCertificateBytes = 64 << 10
	// MaxAlternativeNames bounds the names and addresses of one certificate.
	MaxAlternativeNames = 1024

	// maxNameBytes bounds subject and issuer, each in DER. Both are kept as text, and crypto/x509 formats them in
	// quadratic time.
	maxNameBytes = 4 << 10
	// maxRSABits bounds RSA keys. The author of a certificate chooses the modulus, and a verification costs its
	// square. crypto/tls has the same bound.
	maxRSABits = 8192
	// maxKeyDER bounds a private key in bytes; PKCS#8 of maxRSABits is 4.7 KiB.
	maxKeyDER = 6 << 10
	// maxErrorText bounds the quoted part of an X.509 parse error, which may contain a name from the certificate.
	maxErrorText = 200
	// maxAnswers bounds how many CAs a certificate remembers beside its first signer.
	maxAnswers = MaxCertificates
)
