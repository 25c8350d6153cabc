// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

// Bounds of the parsers. They lie far above what fits into one Kubernetes object
// (about 1.5 MiB) and far below what would hurt.
const (
	// MaxPEMBytes bounds the length of a PEM, in bytes.
	MaxPEMBytes = 8 << 20
	// MaxCertificates bounds the number of certificates in one PEM.
	MaxCertificates = 20000

	// maxRSABits bounds the RSA keys that are accepted at all: the cost of one
	// verification grows with the square of the modulus, which the author of a
	// certificate chooses.
	maxRSABits = 16384
	// maxKeyDER bounds a private key in bytes; PKCS#8 of maxRSABits is 9.3 KiB.
	maxKeyDER = 12 << 10
	// maxErrorText bounds what is repeated of an X.509 parse error, which may
	// quote a name out of the certificate.
	maxErrorText = 200
)
