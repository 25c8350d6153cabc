// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seeds are valid and invalid PEMs. Run the fuzz targets with -fuzzminimizetime=1x: by default, minimizing one
// input of this size takes a minute.
func seeds(f *testing.F) [][]byte {
	f.Helper()
	leaf := leaves[ECDSAP256]()
	chain := leaf.CertPEM()
	return [][]byte{
		nil,
		chain,
		chain[:len(chain)/2],
		chain[40:],
		leaves[Ed25519]().CertPEM(),
		bytes.ReplaceAll(chain, []byte("\n"), []byte("\r\n")),
		join(bytes.TrimSpace(chain), chain),
		join(chain, chain, []byte("text")),
		keyPEM(f, leaf),
		pemBlock("CERTIFICATE", nil),
		[]byte("-----BEGIN CERTIFICATE-----\na: b\n\n-----END CERTIFICATE-----\n"),
		[]byte("-----BEGIN -----BEGIN -----END -----"),
	}
}

func FuzzParseCertificate(f *testing.F) {
	for _, alg := range []KeyAlgorithm{ECDSAP256, Ed25519} {
		f.Add(leaves[alg]().Certificate.DER())
		f.Add(authorities[alg]().Certificate.DER())
	}
	f.Add([]byte{0x30, 0x80})
	f.Fuzz(func(t *testing.T, der []byte) {
		cert, err := ParseCertificate(der)
		if err != nil {
			return
		}
		if !bytes.Equal(cert.DER(), der) {
			t.Error("an accepted certificate changed its bytes")
		}
		again, err := ParseChain(cert.PEM())
		if err != nil || len(again) != 1 || !again[0].Equal(cert) {
			t.Errorf("round trip through PEM: %v", err)
		}
		cert.SignedBy(cert)
	})
}

func FuzzParseChain(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		certs, err := ParseChain(data)
		if err != nil {
			if certs != nil {
				t.Error("certificates come with an error")
			}
			return
		}
		// The lenient parser, which other Go programs use, must read the same from every input that the strict
		// parser accepts.
		var lenient []Fingerprint
		for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
			lenient = append(lenient, fingerprintOf(block.Bytes))
		}
		if diff := cmp.Diff(lenient, fingerprints(certs)); diff != "" {
			t.Errorf("pem.Decode reads other certificates (-lenient +strict):\n%s", diff)
		}
		again, err := ParseChain(EncodeCertificates(certs...))
		if err != nil || !slices.EqualFunc(again, certs, (*Certificate).Equal) {
			t.Errorf("round trip: %v", err)
		}
	})
}

func FuzzParseBundle(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		anchors, err := ParseBundle(data)
		if (err == nil) != (len(anchors) > 0) {
			t.Fatalf("%d anchors with error %v", len(anchors), err)
		}
		seen := map[Fingerprint]bool{}
		for _, anchor := range anchors {
			if seen[anchor.Fingerprint] {
				t.Errorf("anchor %s is there twice", anchor.Fingerprint)
			}
			seen[anchor.Fingerprint] = true
		}
	})
}

func FuzzParsePair(f *testing.F) {
	for _, alg := range []KeyAlgorithm{RSA2048, ECDSAP256, Ed25519} {
		f.Add(leaves[alg]().CertPEM(), keyPEM(f, leaves[alg]()))
		f.Add(leaves[alg]().CertPEM(), keyPEM(f, authorities[alg]()))
	}
	for _, seed := range seeds(f) {
		f.Add(leaves[ECDSAP256]().CertPEM(), seed)
	}
	f.Fuzz(func(t *testing.T, certPEM, key []byte) {
		pair, err := ParsePair(certPEM, key)
		if err != nil {
			return
		}
		encoded, err := pair.KeyPEM()
		if err != nil {
			t.Fatalf("KeyPEM of an accepted pair: %v", err)
		}
		if _, err := tls.X509KeyPair(pair.CertPEM(), encoded); err != nil {
			t.Errorf("crypto/tls refuses an accepted pair: %v", err)
		}
		if _, err := CheckPair(certPEM, key); err != nil {
			t.Errorf("CheckPair refuses what ParsePair accepts: %v", err)
		}
	})
}
