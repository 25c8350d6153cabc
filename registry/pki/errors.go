// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import "errors"

// Faults of input; test with errors.Is. The texts never quote the input.
var (
	// ErrNoCertificate reports a PEM that holds no CERTIFICATE block.
	ErrNoCertificate = errors.New("no certificate")
	// ErrEmptyBundle reports a bundle without any trust anchor.
	ErrEmptyBundle = errors.New("bundle is empty")
	// ErrMalformedPEM reports a block that is cut off, damaged, or does not start on its own line.
	ErrMalformedPEM = errors.New("malformed PEM")
	// ErrBlockType reports a PEM block of another type where only CERTIFICATE is allowed.
	ErrBlockType = errors.New("unexpected PEM block")
	// ErrInvalidCertificate reports DER that is no X.509 certificate.
	ErrInvalidCertificate = errors.New("invalid certificate")
	// ErrTooLarge reports input beyond a limit of this package.
	ErrTooLarge = errors.New("too large")

	// ErrNoKey reports a PEM without a private key, or a Pair that this package did not make.
	ErrNoKey = errors.New("no private key")
	// ErrManyKeys reports a PEM with more than one private key: readers disagree on which one counts.
	ErrManyKeys = errors.New("more than one private key")
	// ErrInvalidKey reports a private key that cannot be read or cannot sign.
	ErrInvalidKey = errors.New("invalid private key")
	// ErrEncryptedKey reports a private key behind a passphrase.
	ErrEncryptedKey = errors.New("private key is encrypted")
	// ErrKeyMismatch reports a private key that belongs to another certificate.
	ErrKeyMismatch = errors.New("private key does not belong to the certificate")

	// ErrInvalidProfile reports a profile from which no sound certificate can be made.
	ErrInvalidProfile = errors.New("invalid profile")
	// ErrKeyAlgorithm reports a key algorithm that this package does not generate.
	ErrKeyAlgorithm = errors.New("unsupported key algorithm")
	// ErrNotCA reports a signer that may not sign certificates.
	ErrNotCA = errors.New("signer is not a certificate authority")
	// ErrRestricted reports an authority with extensions for which verifiers refuse a leaf.
	ErrRestricted = errors.New("what the authority may sign is restricted")
	// ErrNotSelfSigned reports an authority that another one signed: only the key of its issuer can renew it.
	ErrNotSelfSigned = errors.New("authority is not self-signed")
	// ErrSignerExpired reports a signer that is not valid at the moment of signing: expired, not valid yet, or with
	// no whole second left.
	ErrSignerExpired = errors.New("signer is outside its validity")
)
