// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// resignAt returns a time after everything that these tests make has expired.
func resignAt() time.Time { return time.Date(2027, 3, 4, 5, 6, 7, 0, time.UTC) }

func expiredAuthority(t testing.TB, algorithm KeyAlgorithm) *Pair {
	t.Helper()
	ca, err := NewAuthority(Profile{CommonName: "etcd-signer@1", Key: algorithm, Validity: 30 * 24 * time.Hour, Backdate: time.Hour},
		resignAt().Add(-100*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// TestResignInterchangeable: a verifier that trusts any certificate of a key accepts what any other one signed.
// The recovery of nodes that do not know each other relies on this. The re-signed certificates differ because they
// are made at different times.
func TestResignInterchangeable(t *testing.T) {
	now := resignAt()
	for _, algorithm := range []KeyAlgorithm{RSA2048, ECDSAP256, ECDSAP384, Ed25519} {
		t.Run(string(algorithm), func(t *testing.T) {
			old := expiredAuthority(t, algorithm)
			var anchors []*Pair
			for _, at := range []time.Time{now, now.Add(-31 * 24 * time.Hour)} {
				again, err := old.Resign(at)
				if err != nil {
					t.Fatal(err)
				}
				anchors = append(anchors, again)
			}
			if anchors[0].Certificate.Equal(anchors[1].Certificate) {
				t.Fatal("the two re-signed certificates are the same one; the test shows nothing")
			}
			for i, signer := range anchors {
				leaf, err := signer.Issue(Profile{CommonName: "peer", IPAddresses: []string{"10.0.0.1"}, Usages: []Usage{ServerAuth, ClientAuth},
					Key: ECDSAP256, Validity: time.Hour}, now)
				if err != nil {
					t.Fatal(err)
				}
				for j, anchor := range anchors {
					verifies(t, leaf.Certificate, anchor.Certificate, now)
					if !leaf.Certificate.SignedBy(anchor.Certificate) || !leaf.Certificate.SignedBy(old.Certificate) {
						t.Errorf("the leaf of %d does not count as signed by %d or by the old one", i, j)
					}
				}
				if err := accepts(leaf.Certificate, old.Certificate, now); err == nil {
					t.Error("a verifier accepts the expired anchor; nothing had to be re-signed")
				}
			}
		})
	}
}

func verifies(t *testing.T, leaf, anchor *Certificate, now time.Time) {
	t.Helper()
	if err := accepts(leaf, anchor, now); err != nil {
		t.Errorf("leaf of %s under anchor %s: %v", leaf.AuthorityKeyID, anchor.SubjectKeyID, err)
	}
}

// accepts verifies a leaf as a Go TLS stack does if the peer sends the leaf alone.
func accepts(leaf, anchor *Certificate, now time.Time) error {
	parsed, err := x509.ParseCertificate(leaf.DER())
	if err != nil {
		return err
	}
	root, err := x509.ParseCertificate(anchor.DER())
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	_, err = parsed.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err
}

func TestResignSameBytes(t *testing.T) {
	for _, algorithm := range []KeyAlgorithm{RSA2048, ECDSAP256, ECDSAP521, Ed25519} {
		old := expiredAuthority(t, algorithm)
		one, err := old.Resign(resignAt())
		if err != nil {
			t.Fatal(err)
		}
		other, err := old.Resign(resignAt().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if !one.Certificate.Equal(other.Certificate) {
			t.Errorf("%s: two nodes make different certificates within the same life", algorithm)
		}
		again, err := one.Resign(one.Certificate.NotAfter.Add(time.Hour))
		if err != nil || !again.Certificate.ValidAt(one.Certificate.NotAfter.Add(time.Hour)) {
			t.Errorf("%s: a re-signed authority cannot be re-signed: %v", algorithm, err)
		}
	}
}

// TestResignKeepsEverything re-signs a CA that this package would not make.
func TestResignKeepsEverything(t *testing.T) {
	key, err := GenerateKey(ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "openshift-etcd_etcd-signer@1", OrganizationalUnit: []string{"unit"}},
		NotBefore: resignAt().Add(-20 * time.Hour), NotAfter: resignAt().Add(-10 * time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLen: 3,
		SubjectKeyId: []byte("an identifier of old"), PermittedDNSDomains: []string{"example.com"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	old := &Pair{Certificate: cert, key: seal(key)}
	again, err := old.Resign(resignAt())
	if err != nil {
		t.Fatal(err)
	}
	before, _ := x509.ParseCertificate(der)
	after, _ := x509.ParseCertificate(again.Certificate.DER())
	if diff := cmp.Diff(before.Extensions, after.Extensions); diff != "" {
		t.Errorf("extensions differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before.RawSubject, after.RawSubject); diff != "" {
		t.Errorf("the subject differs (-want +got):\n%s", diff)
	}
	if before.SerialNumber.Cmp(after.SerialNumber) == 0 {
		t.Error("two certificates of one issuer have the same serial number")
	}
}

func TestResignRefuses(t *testing.T) {
	ca := expiredAuthority(t, ECDSAP256)
	leaf, err := ca.Issue(Profile{CommonName: "leaf", Usages: []Usage{ClientAuth}, Key: ECDSAP256, Validity: time.Hour}, resignAt().Add(-90*24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leaf.Resign(resignAt()); !errors.Is(err, ErrNotCA) {
		t.Errorf("a leaf: %v, want ErrNotCA", err)
	}
	if _, err := (&Pair{Certificate: ca.Certificate}).Resign(resignAt()); !errors.Is(err, ErrNoKey) {
		t.Errorf("no key: %v, want ErrNoKey", err)
	}
	intermediate := intermediateOf(t, ca)
	if _, err := intermediate.Resign(resignAt()); !errors.Is(err, ErrNotSelfSigned) {
		t.Errorf("an intermediate: %v, want ErrNotSelfSigned", err)
	}
}

func intermediateOf(t *testing.T, root *Pair) *Pair {
	t.Helper()
	key, err := GenerateKey(ECDSAP256)
	if err != nil {
		t.Fatal(err)
	}
	parent, err := x509.ParseCertificate(root.Certificate.DER())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := sign(&x509.Certificate{
		SerialNumber: big.NewInt(8), Subject: pkix.Name{CommonName: "intermediate"},
		NotBefore: parent.NotBefore, NotAfter: parent.NotAfter, BasicConstraintsValid: true, IsCA: true,
	}, parent, key, root.key())
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func TestResignWindow(t *testing.T) {
	begin := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	const life = 100 * time.Hour
	end := begin.Add(life)
	for name, now := range map[string]time.Time{
		"before the end":         end.Add(-time.Minute),
		"at the end":             end,
		"less than the backdate": end.Add(time.Minute),
		"within the first life":  end.Add(50 * time.Hour),
		"many lives later":       end.Add(1234567 * time.Minute),
		"before the beginning":   begin.Add(-30 * time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			from, until := resignWindow(begin, end, now)
			if got := until.Sub(from); got != 2*life {
				t.Errorf("it lasts %s, want %s", got, 2*life)
			}
			if now.Sub(from) < time.Hour {
				t.Errorf("it begins at %s, less than an hour before %s", from, now)
			}
			if until.Sub(now) < life-time.Hour {
				t.Errorf("it ends at %s, less than a life after %s", until, now)
			}
			if end.Sub(from)%life != 0 {
				t.Errorf("it begins at %s, which another machine would not choose", from)
			}
		})
	}
}
