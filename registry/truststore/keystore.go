// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package truststore

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"fmt"

	"github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"certrotation.dev/registry/pki"
)

// pairAlias is the alias of the pair in a JKS keystore. In PKCS#12 it has none, and Java calls it 1.
const pairAlias = "certificate"

// EncodePair writes a certificate, its chain and its private key as a keystore. The same pair, format and password give
// the same bytes. No error quotes the key or the password.
func EncodePair(format Format, password string, pair *pki.Pair) ([]byte, error) {
	key, err := pair.KeyPEM()
	if err != nil {
		return nil, fmt.Errorf("read the key of %s: %w", pair.Certificate.Subject, err)
	}
	defer clear(key)
	block, _ := pem.Decode(key)
	defer clear(block.Bytes)
	chain := append([]*pki.Certificate{pair.Certificate}, pair.Chain...)
	salts := newSalts([]byte(Seal([]byte(string(format)+"\x00"+password), pair.CertPEM(), block.Bytes)))
	switch format {
	case PKCS12:
		return encodePairPKCS12(password, block.Bytes, chain, salts)
	case JKS:
		return encodePairJKS(password, block.Bytes, chain, salts)
	case PEM:
	}
	return nil, fmt.Errorf("keystore format %q is not known", format)
}

func encodePairPKCS12(password string, der []byte, chain []*pki.Certificate, salts *salts) ([]byte, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read the key of %s: %w", chain[0].Subject, pki.ErrInvalidKey)
	}
	// The library writes the bytes of a certificate and reads no other field.
	raw := make([]*x509.Certificate, 0, len(chain))
	for _, c := range chain {
		raw = append(raw, &x509.Certificate{Raw: c.DER()})
	}
	out, err := pkcs12.Modern2023.WithRand(salts).Encode(key, raw[0], raw[1:], password)
	if err != nil {
		return nil, fmt.Errorf("encode the pair of %s as PKCS#12: %w", chain[0].Subject, err)
	}
	return out, nil
}

func encodePairJKS(password string, der []byte, chain []*pki.Certificate, salts *salts) ([]byte, error) {
	store := keystore.New(keystore.WithOrderedAliases(), keystore.WithCustomRandomNumberGenerator(salts))
	entry := keystore.PrivateKeyEntry{CreationTime: chain[0].NotBefore, PrivateKey: der}
	for _, c := range chain {
		entry.CertificateChain = append(entry.CertificateChain, keystore.Certificate{Type: "X.509", Content: c.DER()})
	}
	if err := store.SetPrivateKeyEntry(pairAlias, entry, []byte(password)); err != nil {
		return nil, fmt.Errorf("encode the pair of %s as JKS: %w", chain[0].Subject, err)
	}
	var out bytes.Buffer
	if err := store.Store(&out, []byte(password)); err != nil {
		return nil, fmt.Errorf("encode the pair of %s as JKS: %w", chain[0].Subject, err)
	}
	return out.Bytes(), nil
}

// Seal binds a keystore to the pair beside it, as SHA-256 in lower-case hexadecimal. Without the private key nothing
// else has this seal, and the seal reveals neither the key nor the password.
func Seal(store, certPEM, keyPEM []byte) string {
	digest := sha256.New()
	for _, part := range [][]byte{store, certPEM, keyPEM} {
		digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		digest.Write(part)
	}
	sum := hex.EncodeToString(digest.Sum(nil))
	// Overwrite the end of the key, which the digest still holds.
	digest.Write(make([]byte, digest.BlockSize()))
	return sum
}

// Bounds of a password. keytool accepts no shorter one, and the formats differ in their support of other characters.
const minPassword, maxPassword = 6, 128

// UsablePassword reports whether every format and its programs can use a password.
func UsablePassword(password []byte) bool {
	printable := !bytes.ContainsFunc(password, func(r rune) bool { return r < ' ' || r > '~' })
	return printable && len(password) >= minPassword && len(password) <= maxPassword
}
