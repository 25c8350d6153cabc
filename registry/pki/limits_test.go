// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
)

func TestCertificateBeyondBounds(t *testing.T) {
	key := newECKey(t)
	names := func(n int) func(*x509.Certificate) {
		return func(c *x509.Certificate) {
			for i := range n {
				c.DNSNames = append(c.DNSNames, fmt.Sprintf("n%d", i))
			}
		}
	}
	for _, tc := range []struct {
		name string
		edit func(*x509.Certificate)
		want error
	}{
		{"as many names as may be", names(MaxAlternativeNames), nil},
		{"one name more", names(MaxAlternativeNames + 1), ErrTooLarge},
		{"one address more", func(c *x509.Certificate) {
			names(MaxAlternativeNames)(c)
			c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)}
		}, ErrTooLarge},
		{"a long subject", func(c *x509.Certificate) { c.Subject.Organization = []string{strings.Repeat("x", maxNameBytes-100)} }, nil},
		{"a subject that is too long", func(c *x509.Certificate) { c.Subject.Organization = []string{strings.Repeat("x", maxNameBytes)} }, ErrTooLarge},
		{"a subject of many parts", func(c *x509.Certificate) {
			for i := range 2000 {
				c.Subject.OrganizationalUnit = append(c.Subject.OrganizationalUnit, fmt.Sprint(i))
			}
		}, ErrTooLarge},
		{"a large certificate", func(c *x509.Certificate) {
			c.CRLDistributionPoints = []string{"http://" + strings.Repeat("x", maxCertificateBytes)}
		}, ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := ParseCertificate(forgeDER(t, key, nil, tc.edit)); !errors.Is(err, tc.want) {
				t.Errorf("ParseCertificate: %v, want %v", err, tc.want)
			}
		})
	}
}

func TestChainBeyondBounds(t *testing.T) {
	pair := leaves[ECDSAP256]()
	key := keyPEM(t, pair)
	chain := bytes.Repeat(pair.Certificate.PEM(), MaxChain)
	if _, err := CheckPair(chain, key); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := CheckPair(append(chain, pair.Certificate.PEM()...), key); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v, want ErrTooLarge", err)
	}
}

// TestCheckKey: the answer equals the one of CheckPair. The second one comes from the cache, which is keyed by
// content.
func TestCheckKey(t *testing.T) {
	right, wrong := leaves[ECDSAP256](), leaves[Ed25519]()
	cache := NewCache(2)
	for _, tc := range []struct {
		name string
		key  []byte
		want error
	}{
		{"the right key", keyPEM(t, right), nil},
		{"another key", keyPEM(t, wrong), ErrKeyMismatch},
		{"no key", []byte("text"), ErrNoKey},
		{"too large", make([]byte, MaxPEMBytes+1), ErrTooLarge},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 {
				if err := cache.CheckKey(right.Certificate, tc.key); !errors.Is(err, tc.want) {
					t.Errorf("CheckKey: %v, want %v", err, tc.want)
				}
			}
			if n := cache.keys.recent.Len(); n > 2 {
				t.Errorf("%d entries, want 2 at most", n)
			}
		})
	}

	t.Run("remembered", func(t *testing.T) {
		cache := NewCache(8)
		key := keyPEM(t, right)
		id := cache.keys.id(right.Certificate, key)
		told := errors.New("remembered")
		cache.keys.recent.Add(id, checkedKey{err: told})
		if err := cache.CheckKey(right.Certificate, key); !errors.Is(err, told) {
			t.Errorf("CheckKey: %v, want what is remembered", err)
		}
		if err := cache.CheckKey(wrong.Certificate, key); !errors.Is(err, ErrKeyMismatch) {
			t.Errorf("CheckKey with another certificate: %v", err)
		}
	})
	t.Run("by a secret of the cache", func(t *testing.T) {
		if a, b := NewCache(1), NewCache(1); a.keys.id(right.Certificate, nil) == b.keys.id(right.Certificate, nil) {
			t.Error("two caches find an entry by the same bytes: a guess of a key could be confirmed by them")
		}
	})
}

// TestSignedByRemembersStrangers: in a bundle of many anchors with one name, each anchor costs one verification, once.
func TestSignedByRemembersStrangers(t *testing.T) {
	key := newECKey(t)
	der := forgeDER(t, key, nil, nil)
	leaf, err := ParseCertificate(forgeDER(t, newECKey(t), nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxAnswers {
		other, err := ParseCertificate(withSerial(t, der, big.NewInt(int64(i+2))))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if leaf.SignedBy(other) {
				t.Fatal("signed by a stranger")
			}
		}
		if _, known := leaf.answers.get(hasSigned, 0, other); !known {
			t.Fatalf("anchor %d is not remembered", i)
		}
		if len(leaf.answers.known) > maxAnswers {
			t.Fatalf("%d are remembered", len(leaf.answers.known))
		}
	}
	if !leaf.SignedBy(leaf) {
		t.Error("not signed by itself")
	}
}
