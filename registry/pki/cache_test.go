// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/sha256"
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCacheAnswersAsParseChain(t *testing.T) {
	leaf := leaves[ECDSAP256]()
	tests := map[string][]byte{
		"chain":         leaf.CertPEM(),
		"duplicates":    join(leaf.CertPEM(), leaf.CertPEM()),
		"nil":           nil,
		"damaged":       leaf.CertPEM()[:50],
		"no DER":        pemBlock(blockCertificate, []byte("x")),
		"a private key": keyPEM(t, leaf),
		"too large":     make([]byte, MaxPEMBytes+1),
	}
	cache := NewCache(10)
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			want, wantErr := ParseChain(data)
			for range 2 { // the second answer comes from the cache
				got, err := cache.Chain(data)
				if (err == nil) != (wantErr == nil) || errors.Is(err, ErrTooLarge) != errors.Is(wantErr, ErrTooLarge) {
					t.Errorf("Chain: %v, ParseChain: %v", err, wantErr)
				}
				if diff := cmp.Diff(fingerprints(want), fingerprints(got)); diff != "" {
					t.Errorf("chain (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestCacheKeepsErrors(t *testing.T) {
	cache := NewCache(2)
	_, first := cache.Chain(nil)
	_, second := cache.Chain(nil)
	if !errors.Is(first, ErrNoCertificate) || first != second { //nolint:errorlint // identity is the point
		t.Errorf("errors %v and %v, want one cached ErrNoCertificate", first, second)
	}
}

func TestCacheSharesCertificates(t *testing.T) {
	ca := authorities[ECDSAP256]()
	profile := leafProfile(Ed25519)
	a, b := must(ca.Issue(profile, testNow)), must(ca.Issue(profile, testNow))
	cache := NewCache(10)
	first, second := must(cache.Chain(a.CertPEM())), must(cache.Chain(b.CertPEM()))
	if first[1] != second[1] {
		t.Error("the signer of two chains exists twice")
	}
	again := must(cache.Chain(a.CertPEM()))
	if again[0] != first[0] {
		t.Error("the same PEM was parsed twice")
	}
	again[0] = nil
	if must(cache.Chain(a.CertPEM()))[0] == nil {
		t.Error("a caller can change what is cached")
	}
}

func TestCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	a, b, c := authorities[ECDSAP256]().Certificate, authorities[ECDSAP384]().Certificate, authorities[Ed25519]().Certificate
	cache := NewCache(2)
	keptA, keptB := must(cache.Chain(a.PEM()))[0], must(cache.Chain(b.PEM()))[0]
	if must(cache.Chain(a.PEM()))[0] != keptA {
		t.Error("a was not cached")
	}
	must(cache.Chain(c.PEM())) // drops b
	if must(cache.Chain(a.PEM()))[0] != keptA {
		t.Error("a was dropped although it was used last")
	}
	if must(cache.Chain(b.PEM()))[0] == keptB {
		t.Error("b was kept beyond the limit")
	}
	if cache.recent.Len() != 2 || len(cache.interned) != 2 {
		t.Errorf("%d entries, %d certificates, want 2 each", cache.recent.Len(), len(cache.interned))
	}
}

func TestCacheForgetsCertificatesWithTheirLastEntry(t *testing.T) {
	leaf := leaves[Ed25519]()
	cache := NewCache(0) // keeps at least one entry
	must(cache.Chain(join(leaf.CertPEM(), leaf.CertPEM())))
	must(cache.Chain(leaf.Chain[0].PEM()))
	if len(cache.interned) != 1 || cache.interned[leaf.Chain[0].Fingerprint].uses != 1 {
		t.Errorf("interned: %d certificates, want only the signer, once", len(cache.interned))
	}
}

func TestCacheInsertsOnce(t *testing.T) {
	// Two callers missed at the same time: the slower one gets the entry of the faster one.
	cert := leaves[Ed25519]().Certificate
	cache := NewCache(2)
	key := sha256.Sum256(cert.PEM())
	first := cache.insert(key, &entry{certs: []*Certificate{cert}})
	second := cache.insert(key, &entry{certs: []*Certificate{must(ParseCertificate(cert.DER()))}})
	if first != second || cache.interned[cert.Fingerprint].uses != 1 {
		t.Error("the same PEM was inserted twice")
	}
}

func TestCacheConcurrently(t *testing.T) {
	var inputs [][]byte
	for _, alg := range []KeyAlgorithm{ECDSAP256, ECDSAP384, ECDSAP521, Ed25519} {
		inputs = append(inputs, leaves[alg]().CertPEM(), authorities[alg]().CertPEM())
	}
	cache := NewCache(3)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 100 {
				if _, err := cache.Chain(inputs[(i*7+worker)%len(inputs)]); err != nil {
					t.Errorf("Chain: %v", err)
				}
			}
		})
	}
	group.Wait()
	uses := 0
	for _, interned := range cache.interned {
		uses += interned.uses
	}
	held := 0
	for _, input := range inputs {
		if kept, ok := cache.recent.Get(sha256.Sum256(input)); ok {
			held += len(kept.(*entry).certs)
		}
	}
	if uses != held {
		t.Errorf("%d uses are counted, %d are held", uses, held)
	}
}

func BenchmarkParseChain(b *testing.B) {
	data := leaves[ECDSAP256]().CertPEM()
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseChain(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		cache := NewCache(1)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := cache.Chain(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
