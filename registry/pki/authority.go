// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// NewAuthority makes a key and a self-signed CA certificate. Unless the profile sets Subordinates, the CA may sign
// leaves only (path length 0). It uses CommonName, which is required, and Organizations, Key, Validity and Backdate.
// An authority has no alternative names and no extended usages.
func NewAuthority(p Profile, now time.Time) (*Pair, error) {
	key, err := GenerateKey(p.Key)
	if err != nil {
		return nil, fmt.Errorf("make authority: %w", err)
	}
	return NewAuthorityOf(key, p, now)
}

// NewAuthorityOf is NewAuthority for an existing key, which may be outside this process. It ignores the key algorithm
// of the profile; the algorithm of the key must be Valid.
func NewAuthorityOf(key crypto.Signer, p Profile, now time.Time) (*Pair, error) {
	template, err := authorityTemplate(key.Public(), p, now)
	if err != nil {
		return nil, fmt.Errorf("make authority: %w", err)
	}
	return sign(template, template, key, key)
}

func authorityTemplate(public crypto.PublicKey, p Profile, now time.Time) (*x509.Certificate, error) {
	p.Key = algorithmOf(public)
	p, err := p.Normalized()
	if err != nil {
		return nil, err
	}
	if p.CommonName == "" {
		return nil, fmt.Errorf("%w: it needs a common name", ErrInvalidProfile)
	}
	return &x509.Certificate{
		SerialNumber:          newSerial(),
		Subject:               p.subject(),
		NotBefore:             now.Add(-p.Backdate).UTC(),
		NotAfter:              now.Add(p.Validity).UTC(),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        !p.Subordinates,
	}, nil
}

// sign makes the certificate of key. signer and parent are the key and the certificate of its issuer; for a
// self-signed one, parent is template.
func sign(template, parent *x509.Certificate, key, signer crypto.Signer) (*Pair, error) {
	cert, err := signPublic(template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return &Pair{Certificate: cert, key: seal(key)}, nil
}

// signPublic is sign for a public key alone. It fills in the key identifiers.
func signPublic(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*Certificate, error) {
	id, err := keyID(public)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	template.SubjectKeyId = id
	template.AuthorityKeyId = bytes.Clone(parent.SubjectKeyId)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	cert, err := ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("sign certificate: %w", err)
	}
	return cert, nil
}

// keyID is RFC 7093 method 1: the first 20 bytes of the SHA-256 of the public key bits, without the algorithm header.
func keyID(public crypto.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	var info struct {
		Algorithm pkix.AlgorithmIdentifier
		Key       asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &info); err != nil {
		return nil, fmt.Errorf("decode public key: %w", err)
	}
	sum := sha256.Sum256(info.Key.Bytes)
	return sum[:20], nil
}

// newSerial returns 159 random bits, never zero. RFC 5280 limits a serial number to 20 octets, so a positive one
// holds no more.
func newSerial() *big.Int {
	serial := new(big.Int)
	for serial.Sign() == 0 {
		var octets [20]byte
		// crypto/rand ends the program instead of returning an error.
		_, _ = rand.Read(octets[:])
		octets[0] &= 0x7f
		serial.SetBytes(octets[:])
	}
	return serial
}

// MaxCommonName is the most characters of a common name (RFC 5280, ub-common-name). Some verifiers drop a CA with
// more.
const MaxCommonName = 64

// GenerationName is the common name of the signer made at now for a Secret: "<namespace>_<name>@<unix seconds>". So
// each generation of a signer has its own subject, and a TLS probe can tell them apart. If that is too long for a
// common name, a hash replaces the end of namespace and name.
func GenerationName(namespace, name string, now time.Time) string {
	return generationPrefix(namespace, name) + strconv.FormatInt(now.Unix(), 10)
}

// IsGenerationOf reports whether GenerationName makes commonName for this Secret at some time, or library-go, which
// shortens nothing.
func IsGenerationOf(commonName, namespace, name string) bool {
	seconds, found := strings.CutPrefix(commonName, generationPrefix(namespace, name))
	if !found {
		seconds, found = strings.CutPrefix(commonName, namespace+"_"+name+"@")
	}
	if !found {
		return false
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	// Only the canonical text counts: no sign, no leading zeros.
	return err == nil && strconv.FormatInt(unix, 10) == seconds
}

func generationPrefix(namespace, name string) string {
	const kept, hashed, seconds = 32, 16, 11
	full := namespace + "_" + name
	if len(full)+len("@")+seconds > MaxCommonName {
		full = full[:kept] + "-" + hexSHA256([]byte(full))[:hashed]
	}
	return full + "@"
}
