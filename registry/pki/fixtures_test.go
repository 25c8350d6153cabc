// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"sync"
	"testing"
	"time"
)

// testNow is the time of all tests. No test here reads a clock.
var testNow = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// authorities and leaves are made once per process because RSA keys are slow.
var (
	authorities = perAlgorithm(func(alg KeyAlgorithm) (*Pair, error) {
		return NewAuthority(authorityProfile(alg), testNow)
	})
	leaves = perAlgorithm(func(alg KeyAlgorithm) (*Pair, error) {
		return authorities[alg]().Issue(leafProfile(alg), testNow)
	})
	rsa1024 = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 1024)) })
)

func perAlgorithm(make func(KeyAlgorithm) (*Pair, error)) map[KeyAlgorithm]func() *Pair {
	out := map[KeyAlgorithm]func() *Pair{}
	for _, alg := range KeyAlgorithms() {
		out[alg] = sync.OnceValue(func() *Pair { return must(make(alg)) })
	}
	return out
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func authorityProfile(alg KeyAlgorithm) Profile {
	return Profile{
		CommonName: GenerationName("mtls-demo", "signer-"+string(alg), testNow),
		Key:        alg,
		Validity:   10 * time.Hour,
		Backdate:   5 * time.Minute,
	}
}

func leafProfile(alg KeyAlgorithm) Profile {
	return Profile{
		CommonName:    "server",
		Organizations: []string{"system:masters"},
		DNSNames:      []string{"server.mtls-demo.svc", "localhost"},
		IPAddresses:   []string{"127.0.0.1", "::1"},
		Usages:        []Usage{ServerAuth, ClientAuth},
		Key:           alg,
		Validity:      time.Hour,
		Backdate:      5 * time.Minute,
	}
}

// forge makes certificates that this package would not issue. It lets edit change a sound self-signed CA template.
// Then it signs with the key of parent, or with the own key if parent is nil.
func forge(tb testing.TB, key crypto.Signer, parent *Pair, edit func(*x509.Certificate)) *Certificate {
	tb.Helper()
	cert, err := ParseCertificate(forgeDER(tb, key, parent, edit))
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}

func forgeDER(tb testing.TB, key crypto.Signer, parent *Pair, edit func(*x509.Certificate)) []byte {
	tb.Helper()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "forged"},
		NotBefore:             testNow.Add(-time.Hour),
		NotAfter:              testNow.Add(time.Hour),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		SubjectKeyId:          []byte("own"),
	}
	if edit != nil {
		edit(template)
	}
	signer, issuer := key, template
	if parent != nil {
		signer = parent.key()
		issuer = must(x509.ParseCertificate(parent.Certificate.DER()))
		// CreateCertificate prefers the key identifier of the parent. Tests need absent and wrong ones.
		issuer.SubjectKeyId = template.AuthorityKeyId
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), signer)
	if err != nil {
		tb.Fatal(err)
	}
	return der
}

// forgePair is forge for a self-signed CA, and returns its key too.
func forgePair(tb testing.TB, key crypto.Signer, edit func(*x509.Certificate)) *Pair {
	tb.Helper()
	return &Pair{Certificate: forge(tb, key, nil, edit), key: seal(key)}
}

func newECKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
}

// withSerial replaces the serial number of a certificate. The signature becomes invalid, which parsing does not
// check.
func withSerial(tb testing.TB, der []byte, serial *big.Int) []byte {
	tb.Helper()
	var outer, tbs []asn1.RawValue
	if _, err := asn1.Unmarshal(der, &outer); err != nil {
		tb.Fatal(err)
	}
	if _, err := asn1.Unmarshal(outer[0].FullBytes, &tbs); err != nil {
		tb.Fatal(err)
	}
	tbs[1] = asn1.RawValue{FullBytes: must(asn1.Marshal(serial))}
	outer[0] = asn1.RawValue{FullBytes: must(asn1.Marshal(tbs))}
	return must(asn1.Marshal(outer))
}

func pemBlock(blockType string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der})
}

func keyPEM(tb testing.TB, pair *Pair) []byte {
	tb.Helper()
	data, err := pair.KeyPEM()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

func join(parts ...[]byte) []byte {
	var out []byte
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

func fingerprints(certs []*Certificate) []Fingerprint {
	var out []Fingerprint
	for _, cert := range certs {
		out = append(out, cert.Fingerprint)
	}
	return out
}
