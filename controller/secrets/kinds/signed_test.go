// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"
)

// rsaSigner returns an authority with fixed bytes: its key follows from two primes, and its RSA signature is
// deterministic.
func rsaSigner(t *testing.T) *Certificate {
	t.Helper()
	p, q := prime(1), prime(2)
	one := big.NewInt(1)
	n, phi := new(big.Int).Mul(p, q), new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: n, E: 65537}, D: new(big.Int).ModInverse(big.NewInt(65537), phi), Primes: []*big.Int{p, q}}
	key.Precompute()
	template := &x509.Certificate{
		SerialNumber: one, NotBefore: now, NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		SubjectKeyId: []byte{1},
	}
	der, err := x509.CreateCertificate(nil, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadCertificate("ca", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// prime returns the first prime from a number of 1024 bits on that depends only on n.
func prime(n int64) *big.Int {
	out := new(big.Int).Lsh(big.NewInt(3), 1022)
	out.Add(out, new(big.Int).Lsh(big.NewInt(n), 1000))
	out.SetBit(out, 0, 1)
	for two := big.NewInt(2); !out.ProbablyPrime(20); {
		out.Add(out, two)
	}
	return out
}

// TestNamesOfSigned: the hash of a leaf covers its signer, with the fields of crypto/rsa and crypto/x509. If a Go
// release changes these fields, every leaf of a live namespace is replaced. Then announce it in the changelog
// before the release.
func TestNamesOfSigned(t *testing.T) {
	t.Parallel()
	const want = "server-a9d0b685"
	if got := objectOf(t, &CertificateSecretConfig{Name: "server", CertType: ServerCert, SigningCA: rsaSigner(t)}); got != want {
		t.Errorf("it is called %s, want %s", got, want)
	}
}
