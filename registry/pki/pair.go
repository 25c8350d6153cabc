// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
)

// Pair is a certificate, its chain and its private key. ParsePair, PairOf and the issuing functions of this package
// make it.
type Pair struct {
	// Certificate is the one to which the key belongs.
	Certificate *Certificate
	// Chain follows the certificate, its signer first. It is empty for a self-signed authority.
	Chain []*Certificate

	key sealedKey
}

// sealedKey hides the key in a closure, which reflection (printers, comparers, encoders) cannot enter.
type sealedKey func() crypto.Signer

func seal(key crypto.Signer) sealedKey {
	return func() crypto.Signer { return key }
}

// ParsePair reads a certificate with its chain, and its private key in PKCS#8, PKCS#1 or SEC1. It fails as ParseChain
// does, or with ErrNoKey, ErrManyKeys, ErrInvalidKey, ErrEncryptedKey, ErrTooLarge or ErrKeyMismatch.
func ParsePair(certPEM, keyPEM []byte) (*Pair, error) {
	certs, key, err := matchPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	return &Pair{Certificate: certs[0], Chain: certs[1:], key: seal(key)}, nil
}

// PairOf pairs a certificate and its chain with an existing private key, which may be outside this process. It fails
// as ParseChain does, or with ErrTooLarge or ErrKeyMismatch.
func PairOf(certPEM []byte, key crypto.Signer) (*Pair, error) {
	certs, err := parseShortChain(certPEM)
	if err != nil {
		return nil, err
	}
	if err := checkKey(certs[0], key); err != nil {
		return nil, fmt.Errorf("key of certificate %s: %w", certs[0].Fingerprint, err)
	}
	return &Pair{Certificate: certs[0], Chain: certs[1:], key: seal(key)}, nil
}

// CheckPair is ParsePair without keeping the key. If only the key is at fault, it returns the certificates together
// with the error.
func CheckPair(certPEM, keyPEM []byte) ([]*Certificate, error) {
	certs, _, err := matchPair(certPEM, keyPEM)
	return certs, err
}

// parseShortChain is ParseChain for a chain that is stored with a key: at most MaxChain certificates.
func parseShortChain(certPEM []byte) ([]*Certificate, error) {
	certs, err := ParseChain(certPEM)
	if err != nil {
		return nil, err
	}
	if len(certs) > MaxChain {
		return nil, fmt.Errorf("chain of %d certificates: %w", len(certs), ErrTooLarge)
	}
	return certs, nil
}

func matchPair(certPEM, keyPEM []byte) ([]*Certificate, crypto.Signer, error) {
	certs, err := parseShortChain(certPEM)
	if err != nil {
		return nil, nil, err
	}
	key, err := matchKey(certs[0], keyPEM)
	return certs, key, err
}

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

// KeyPEM returns the private key as a PKCS#8 PRIVATE KEY block. It fails with ErrNoKey for a Pair that this package
// did not make.
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

// TraditionalKeyPEM returns the private key in the openssl format before PKCS#8: RSA PRIVATE KEY (PKCS#1) or EC
// PRIVATE KEY (SEC 1). Ed25519 has PKCS#8 only. It fails as KeyPEM does.
func (p *Pair) TraditionalKeyPEM() ([]byte, error) {
	key, err := p.signer()
	if err != nil {
		return nil, err
	}
	var block pem.Block
	switch key := key.(type) {
	case *rsa.PrivateKey:
		block = pem.Block{Type: blockPKCS1, Bytes: x509.MarshalPKCS1PrivateKey(key)}
	case *ecdsa.PrivateKey:
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, fmt.Errorf("%w: it cannot be encoded", ErrInvalidKey)
		}
		block = pem.Block{Type: blockSEC1, Bytes: der}
	default:
		return p.KeyPEM()
	}
	defer clear(block.Bytes)
	return pem.EncodeToMemory(&block), nil
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

// Format writes String for every verb and flag, %#v and %x included. Its value receiver also covers a copied Pair.
func (p Pair) Format(state fmt.State, _ rune) {
	// fmt keeps the state in memory, and its Write does not fail.
	_, _ = io.WriteString(state, p.String())
}

// LogValue is the text that log/slog writes for a Pair.
func (p Pair) LogValue() slog.Value {
	return slog.StringValue(p.String())
}

// MarshalLog is the text that a logr sink, and so klog, writes for a Pair.
func (p Pair) MarshalLog() any {
	return p.String()
}
