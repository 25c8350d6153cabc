// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"testing"
)

func TestRequest(t *testing.T) {
	for _, alg := range []KeyAlgorithm{ECDSAP256, RSA2048, Ed25519} {
		t.Run(string(alg), func(t *testing.T) {
			made, key, err := NewRequest(Profile{CommonName: "ns_signer@1", Key: alg})
			if err != nil {
				t.Fatal(err)
			}
			read, err := ParseRequest(made.PEM())
			if err != nil || read.Subject != "CN=ns_signer@1" || read.PublicKeyHash != made.PublicKeyHash || !bytes.Equal(read.PEM(), made.PEM()) {
				t.Fatalf("read %+v, %v", read, err)
			}
			if err := read.CheckKey(key); err != nil {
				t.Error(err)
			}
			other := must(authorities[alg]().KeyPEM())
			if err := read.CheckKey(other); !errors.Is(err, ErrKeyMismatch) {
				t.Errorf("another key: %v", err)
			}
		})
	}
	if _, _, err := NewRequest(Profile{Key: ECDSAP256}); !errors.Is(err, ErrInvalidProfile) {
		t.Errorf("without a name: %v", err)
	}
}

// TestRequestAsksForAuthority: OpenSSL with -copy_extensions copy makes a CA of it.
func TestRequestAsksForAuthority(t *testing.T) {
	made, _, err := NewRequest(Profile{CommonName: "ca", Key: ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}
	request := must(x509.ParseCertificateRequest(made.der))
	cert := forge(t, newECKey(t), nil, func(c *x509.Certificate) {
		c.ExtraExtensions, c.KeyUsage, c.BasicConstraintsValid, c.IsCA = request.Extensions, 0, false, false
	})
	parsed := must(x509.ParseCertificate(cert.DER()))
	if !cert.IsCA || cert.pathLength != 0 || parsed.KeyUsage != x509.KeyUsageCertSign|x509.KeyUsageCRLSign|x509.KeyUsageDigitalSignature {
		t.Errorf("CA %t, path length %d, usage %b", cert.IsCA, cert.pathLength, parsed.KeyUsage)
	}
}

func TestParseRequestRefuses(t *testing.T) {
	made, _, err := NewRequest(Profile{CommonName: "ca", Key: ECDSAP256})
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(made.der)
	broken[len(broken)-1] ^= 1
	block := func(der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: blockRequest, Bytes: der}) }
	for name, tt := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":               {nil, ErrNoCertificate},
		"a certificate":         {authorities[ECDSAP256]().Certificate.PEM(), ErrBlockType},
		"two":                   {append(made.PEM(), made.PEM()...), ErrBlockType},
		"no DER":                {block([]byte("x")), ErrInvalidCertificate},
		"a broken signature":    {block(broken), ErrInvalidCertificate},
		"more than any request": {block(make([]byte, maxCertificateBytes+1)), ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseRequest(tt.data); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}
