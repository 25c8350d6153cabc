// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCertify(t *testing.T) {
	for _, alg := range KeyAlgorithms() {
		t.Run(string(alg), func(t *testing.T) {
			ca, holder := authorities[ECDSAP256](), leaves[alg]()
			profile := leafProfile("ignored")
			profile.Validity = 100 * time.Hour
			leaf, err := ca.Certify(profile, holder.key().Public(), testNow)
			if err != nil {
				t.Fatal(err)
			}
			if leaf.PublicKeyHash != holder.Certificate.PublicKeyHash || leaf.KeyAlgorithm != alg {
				t.Errorf("it certifies a key of %s, not the one that was given", leaf.KeyAlgorithm)
			}
			if !leaf.SignedBy(ca.Certificate) || !leaf.NotAfter.Equal(ca.Certificate.NotAfter) {
				t.Errorf("signed by %s until %s, want until the end of the CA at %s", leaf.Issuer, leaf.NotAfter, ca.Certificate.NotAfter)
			}
			if diff := cmp.Diff(profile.DNSNames, leaf.DNSNames, cmp.Transformer("sorted", sortedSet[string])); diff != "" {
				t.Errorf("DNS names (-want +got):\n%s", diff)
			}
			parsed := must(x509.ParseCertificate(leaf.DER()))
			if wantEncipherment := alg.isRSA(); (parsed.KeyUsage&x509.KeyUsageKeyEncipherment != 0) != wantEncipherment || parsed.IsCA {
				t.Errorf("key usage %b, CA %t", parsed.KeyUsage, parsed.IsCA)
			}
		})
	}
}

func TestCertifyRefuses(t *testing.T) {
	ca := authorities[ECDSAP256]()
	sound := leaves[ECDSAP256]().key().Public()
	for name, tc := range map[string]struct {
		signer  *Pair
		profile func(*Profile)
		public  any
		now     time.Time
		want    error
	}{
		"weak key":          {signer: ca, public: rsa1024().Public(), now: testNow, want: ErrKeyAlgorithm},
		"unknown key":       {signer: ca, public: "foreign", now: testNow, want: ErrKeyAlgorithm},
		"key of the signer": {signer: ca, public: ca.key().Public(), now: testNow, want: ErrInvalidProfile},
		"expired signer":    {signer: ca, public: sound, now: testNow.Add(11 * time.Hour), want: ErrSignerExpired},
		"leaf as signer":    {signer: leaves[ECDSAP256](), public: sound, now: testNow, want: ErrNotCA},
		"no signer key":     {signer: &Pair{Certificate: ca.Certificate}, public: sound, now: testNow, want: ErrNoKey},
		"no usage": {
			signer: ca, public: sound, now: testNow, want: ErrInvalidProfile,
			profile: func(p *Profile) { p.Usages = nil },
		},
		"subject of the signer": {
			signer: ca, public: sound, now: testNow, want: ErrInvalidProfile,
			profile: func(p *Profile) { p.CommonName, p.Organizations = ca.Certificate.CommonName, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			profile := leafProfile(ECDSAP256)
			if tc.profile != nil {
				tc.profile(&profile)
			}
			if leaf, err := tc.signer.Certify(profile, tc.public, tc.now); !errors.Is(err, tc.want) || leaf != nil {
				t.Errorf("got %v and %v, want %v", leaf, err, tc.want)
			}
		})
	}
}
