// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
)

// Pair is a certificate, the certificates that follow it in its file, and the
// private key that belongs to it. It is made by ParsePair, NewAuthority and Issue.
type Pair struct {
	// Certificate is the one that the key belongs to.
	Certificate *Certificate
	// Chain follows the certificate: its signer first. Empty for an authority.
	Chain []*Certificate

	key sealedKey
}

// sealedKey hides the key in a closure, where no printer, comparer or encoder
// that works by reflection can walk into it.
type sealedKey func() crypto.Signer

func seal(key crypto.Signer) sealedKey {
	return func() crypto.Signer { return key }
}

// ParsePair reads a certificate with its chain, and its private key in PKCS#8,
// PKCS#1 or SEC1. It fails as ParseChain does, or with ErrNoKey, ErrManyKeys,
// ErrInvalidKey, ErrEncryptedKey, ErrTooLarge or ErrKeyMismatch.
func ParsePair(certPEM, keyPEM []byte) (*Pair, error) {
	certs, key, err := matchPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	return &Pair{Certificate: certs[0], Chain: certs[1:], key: seal(key)}, nil
}

// CheckPair does what ParsePair does, and forgets the key. When the certificates
// are fine and only the key is at fault, it returns them together with the error.
func CheckPair(certPEM, keyPEM []byte) ([]*Certificate, error) {
	certs, _, err := matchPair(certPEM, keyPEM)
	return certs, err
}

func matchPair(certPEM, keyPEM []byte) ([]*Certificate, crypto.Signer, error) {
	certs, err := ParseChain(certPEM)
	if err != nil {
		return nil, nil, err
	}
	if len(certs) > MaxChain {
		return nil, nil, fmt.Errorf("chain of %d certificates: %w", len(certs), ErrTooLarge)
	}
	key, err := matchKey(certs[0], keyPEM)
	return certs, key, err
}

// matchKey reads the private key of a certificate.
func matchKey(cert *Certificate, keyPEM []byte) (crypto.Signer, error) {
	key, err := parseKey(keyPEM)
	if err != nil {
		return nil, err
	}
	if err := checkKey(cert, key); err != nil {
		return nil, fmt.Errorf("key of certificate %s: %w", cert.Fingerprint, err)
	}
	return key, nil
}

// KeyPEM returns the private key as a PKCS#8 PRIVATE KEY block. It fails with
// ErrNoKey for a Pair that this package has not made.
func (p *Pair) KeyPEM() ([]byte, error) {
	key, err := p.signer()
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("%w: it cannot be encoded", ErrInvalidKey)
	}
	defer clear(der)
	return pem.EncodeToMemory(&pem.Block{Type: blockPKCS8, Bytes: der}), nil
}

// CertPEM returns the certificate followed by its chain.
func (p *Pair) CertPEM() []byte {
	return append(EncodeCertificates(p.Certificate), EncodeCertificates(p.Chain...)...)
}

func (p *Pair) signer() (crypto.Signer, error) {
	if p.key == nil {
		return nil, ErrNoKey
	}
	return p.key(), nil
}

var (
	_ fmt.Formatter  = Pair{}
	_ slog.LogValuer = Pair{}
)

// String names the certificate of the pair and withholds the key.
func (p Pair) String() string {
	if p.Certificate == nil {
		return "Pair{}"
	}
	return fmt.Sprintf("Pair{subject %q, fingerprint %s, key withheld}", p.Certificate.Subject, p.Certificate.Fingerprint)
}

// Format writes String for every verb and flag, %#v and %x included. It has a
// value receiver so that a copied Pair is covered as well.
func (p Pair) Format(state fmt.State, _ rune) {
	// fmt keeps the state in memory, and its Write does not fail.
	_, _ = io.WriteString(state, p.String())
}

// LogValue is what log/slog writes for a Pair.
func (p Pair) LogValue() slog.Value {
	return slog.StringValue(p.String())
}

// MarshalLog is what a logr sink, and so klog, writes for a Pair.
func (p Pair) MarshalLog() any {
	return p.String()
}
