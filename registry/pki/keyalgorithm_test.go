// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"testing"
)

func TestKeyAlgorithmValid(t *testing.T) {
	tests := map[KeyAlgorithm]bool{
		RSA2048: true, RSA3072: true, RSA4096: true,
		ECDSAP256: true, ECDSAP384: true, ECDSAP521: true, Ed25519: true,
		"": false, "RSA-1024": false, "ECDSA-P224": false, "rsa-2048": false, "unknown": false,
	}
	for alg, want := range tests {
		t.Run(string(alg), func(t *testing.T) {
			if got := alg.Valid(); got != want {
				t.Errorf("Valid() = %t, want %t", got, want)
			}
		})
	}
}

func TestKeyAlgorithmsIsACopy(t *testing.T) {
	KeyAlgorithms()[0] = "changed"
	if got := KeyAlgorithms()[0]; got != RSA2048 {
		t.Errorf("KeyAlgorithms()[0] = %q after a caller changed its slice", got)
	}
}

func TestGenerateKeyRefusesOthers(t *testing.T) {
	for _, alg := range []KeyAlgorithm{"", "RSA-1024", "ECDSA-P224"} {
		if _, err := GenerateKey(alg); !errors.Is(err, ErrKeyAlgorithm) {
			t.Errorf("GenerateKey(%q) = %v, want ErrKeyAlgorithm", alg, err)
		}
	}
}

func TestAlgorithmOf(t *testing.T) {
	p224 := must(ecdsa.GenerateKey(elliptic.P224(), rand.Reader))
	tests := map[KeyAlgorithm]any{
		"RSA-1024":   rsa1024().Public(),
		"ECDSA-P224": p224.Public(),
		"unknown":    "no key at all",
	}
	for _, alg := range KeyAlgorithms() {
		tests[alg] = leaves[alg]().key().Public()
	}
	for want, key := range tests {
		t.Run(string(want), func(t *testing.T) {
			if got := algorithmOf(key); got != want {
				t.Errorf("algorithmOf = %q, want %q", got, want)
			}
		})
	}
}
