// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"testing"
	"time"
)

func subordinating(t *testing.T) *Pair {
	t.Helper()
	profile := authorityProfile(ECDSAP256)
	profile.Subordinates = true
	root, err := NewAuthority(profile, testNow)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestIssueAuthority(t *testing.T) {
	t.Parallel()
	root := subordinating(t)
	profile := authorityProfile(RSA2048)
	profile.CommonName, profile.Validity = "middle", 1000*time.Hour
	middle, err := root.IssueAuthority(profile, testNow)
	if err != nil {
		t.Fatal(err)
	}
	if !middle.Certificate.IsCA || !middle.Certificate.SignedBy(root.Certificate) || middle.Certificate.NotAfter.After(root.Certificate.NotAfter) {
		t.Errorf("CA %t, of %s until %s", middle.Certificate.IsCA, middle.Certificate.Issuer, middle.Certificate.NotAfter)
	}
	leaf, err := middle.Issue(leafProfile(ECDSAP256), testNow)
	if err != nil {
		t.Fatal(err)
	}
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(must(x509.ParseCertificate(root.Certificate.DER())))
	between.AddCert(must(x509.ParseCertificate(middle.Certificate.DER())))
	if _, err := must(x509.ParseCertificate(leaf.Certificate.DER())).Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: testNow, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	}); err != nil {
		t.Error(err)
	}
}

func TestIssueAuthorityRefuses(t *testing.T) {
	t.Parallel()
	root := subordinating(t)
	for name, tc := range map[string]struct {
		signer  *Pair
		profile func(*Profile)
		now     time.Time
		want    error
	}{
		"a signer of leaves alone":  {signer: authorities[ECDSAP256](), now: testNow, want: ErrNotCA},
		"a leaf":                    {signer: leaves[ECDSAP256](), now: testNow, want: ErrNotCA},
		"an expired signer":         {signer: root, now: testNow.Add(11 * time.Hour), want: ErrSignerExpired},
		"no name":                   {signer: root, now: testNow, want: ErrInvalidProfile, profile: func(p *Profile) { p.CommonName = "" }},
		"the name of its signer":    {signer: root, now: testNow, want: ErrInvalidProfile, profile: func(*Profile) {}},
		"an algorithm that is none": {signer: root, now: testNow, want: ErrKeyAlgorithm, profile: func(p *Profile) { p.Key = "DES" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile := authorityProfile(ECDSAP256)
			if tc.profile != nil {
				tc.profile(&profile)
			}
			if _, err := tc.signer.IssueAuthority(profile, tc.now); !errors.Is(err, tc.want) {
				t.Errorf("%v, want %v", err, tc.want)
			}
		})
	}
}

func TestNewSelfSigned(t *testing.T) {
	t.Parallel()
	own, err := NewSelfSigned(leafProfile(ECDSAP256), testNow)
	if err != nil {
		t.Fatal(err)
	}
	parsed := must(x509.ParseCertificate(own.Certificate.DER()))
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	if _, err := parsed.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: testNow}); err != nil || own.Certificate.IsCA {
		t.Errorf("CA %t, %v", own.Certificate.IsCA, err)
	}
	if _, err := NewSelfSigned(Profile{Key: ECDSAP256, Validity: time.Hour}, testNow); !errors.Is(err, ErrInvalidProfile) {
		t.Errorf("%v, want %v", err, ErrInvalidProfile)
	}
}

// TestKeyOutside makes a CA with a key that only signs, like one in a hardware module, and reads it back.
func TestKeyOutside(t *testing.T) {
	t.Parallel()
	key := leaves[ECDSAP384]().key()
	ca, err := NewAuthorityOf(key, authorityProfile("ignored"), testNow)
	if err != nil {
		t.Fatal(err)
	}
	again, err := PairOf(ca.CertPEM(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := again.Issue(leafProfile(ECDSAP256), testNow)
	if err != nil || !leaf.Certificate.SignedBy(ca.Certificate) {
		t.Errorf("%v", err)
	}
	if _, err := PairOf(ca.CertPEM(), leaves[ECDSAP256]().key()); !errors.Is(err, ErrKeyMismatch) {
		t.Errorf("%v, want %v", err, ErrKeyMismatch)
	}
	if _, err := PairOf(nil, key); !errors.Is(err, ErrNoCertificate) {
		t.Errorf("%v, want %v", err, ErrNoCertificate)
	}
	if _, err := NewAuthorityOf(rsa1024(), authorityProfile(ECDSAP256), testNow); !errors.Is(err, ErrKeyAlgorithm) {
		t.Errorf("%v, want %v", err, ErrKeyAlgorithm)
	}
}

func TestTraditionalKeyPEM(t *testing.T) {
	t.Parallel()
	for alg, want := range map[KeyAlgorithm]string{RSA2048: "RSA PRIVATE KEY", ECDSAP256: "EC PRIVATE KEY", Ed25519: "PRIVATE KEY"} {
		t.Run(string(alg), func(t *testing.T) {
			t.Parallel()
			pair := leaves[alg]()
			text, err := pair.TraditionalKeyPEM()
			if err != nil {
				t.Fatal(err)
			}
			if block, _ := pem.Decode(text); block == nil || block.Type != want {
				t.Errorf("it is no %s", want)
			}
			back, err := ParsePair(pair.CertPEM(), text)
			if err != nil || !bytes.Equal(must(back.KeyPEM()), must(pair.KeyPEM())) {
				t.Errorf("it does not read as what it was: %v", err)
			}
		})
	}
	if _, err := (&Pair{}).TraditionalKeyPEM(); !errors.Is(err, ErrNoKey) {
		t.Errorf("%v, want %v", err, ErrNoKey)
	}
}
