// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"slices"
	"strconv"
)

// KeyAlgorithm names a kind of key and its size, such as "RSA-2048".
type KeyAlgorithm string

// The algorithms for new keys. A parsed certificate may report others, such as "RSA-1024" or "ECDSA-P224", which are
// not Valid.
const (
	RSA2048   KeyAlgorithm = "RSA-2048"
	RSA3072   KeyAlgorithm = "RSA-3072"
	RSA4096   KeyAlgorithm = "RSA-4096"
	ECDSAP256 KeyAlgorithm = "ECDSA-P256"
	ECDSAP384 KeyAlgorithm = "ECDSA-P384"
	ECDSAP521 KeyAlgorithm = "ECDSA-P521"
	Ed25519   KeyAlgorithm = "Ed25519"

	unknownAlgorithm KeyAlgorithm = "unknown"
)

// KeyAlgorithms lists the algorithms for new keys: RSA, ECDSA, Ed25519, each by rising size. The caller owns the
// slice.
func KeyAlgorithms() []KeyAlgorithm {
	return []KeyAlgorithm{RSA2048, RSA3072, RSA4096, ECDSAP256, ECDSAP384, ECDSAP521, Ed25519}
}

// Valid reports whether new keys may use this algorithm.
func (a KeyAlgorithm) Valid() bool {
	return slices.Contains(KeyAlgorithms(), a)
}

func (a KeyAlgorithm) isRSA() bool {
	return a == RSA2048 || a == RSA3072 || a == RSA4096
}

// algorithmOf names the algorithm of a public key that crypto/x509 parsed.
func algorithmOf(public any) KeyAlgorithm {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return KeyAlgorithm("RSA-" + strconv.Itoa(key.N.BitLen()))
	case *ecdsa.PublicKey:
		return KeyAlgorithm("ECDSA-P" + strconv.Itoa(key.Params().BitSize))
	case ed25519.PublicKey:
		return Ed25519
	default:
		return unknownAlgorithm
	}
}

// GenerateKey makes a new private key. It fails with ErrKeyAlgorithm if alg is not Valid.
func GenerateKey(alg KeyAlgorithm) (crypto.Signer, error) {
	switch alg {
	case RSA2048:
		return rsa.GenerateKey(rand.Reader, 2048)
	case RSA3072:
		return rsa.GenerateKey(rand.Reader, 3072)
	case RSA4096:
		return rsa.GenerateKey(rand.Reader, 4096)
	case ECDSAP256:
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case ECDSAP384:
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case ECDSAP521:
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case Ed25519:
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	default:
		return nil, fmt.Errorf("generate key of algorithm %q: %w", alg, ErrKeyAlgorithm)
	}
}
