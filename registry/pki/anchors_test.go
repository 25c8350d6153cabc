// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"errors"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseAnchors: a certificate with a negative serial number is one that OpenSSL and Java read (istio/istio 56815).
func TestParseAnchors(t *testing.T) {
	ca, leaf := authorities[ECDSAP256]().Certificate, leaves[ECDSAP256]().Certificate
	one, two := ca.PEM(), authorities[Ed25519]().Certificate.PEM()
	negative := pemBlock("CERTIFICATE", withSerial(t, ca.DER(), big.NewInt(-5)))
	tests := map[string]struct {
		pem     []byte
		want    int
		unread  []int
		repeats bool
		err     error
	}{
		"read":                      {pem: join(one, two), want: 2},
		"repeated":                  {pem: join(one, two, one), want: 2, repeats: true},
		"a leaf repeated":           {pem: join(one, leaf.PEM(), leaf.PEM()), want: 2},
		"unread first":              {pem: join(negative, one, two), want: 2, unread: []int{1}},
		"unread twice":              {pem: join(one, negative, two, negative), want: 2, unread: []int{2, 4}},
		"unread alone":              {pem: negative, err: ErrInvalidCertificate},
		"empty":                     {pem: []byte("# none\n"), err: ErrEmptyBundle},
		"a key beside":              {pem: join(one, keyPEM(t, leaves[ECDSAP256]())), err: ErrBlockType},
		"cut":                       {pem: join(one, two[:len(two)/2]), err: ErrMalformedPEM},
		"too many, though not read": {pem: join(one, bytes.Repeat(negative, MaxCertificates)), err: ErrTooLarge},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, parse := range []func([]byte) (Anchors, error){ParseAnchors, NewCache(2).Anchors} {
				got, err := parse(test.pem)
				if !errors.Is(err, test.err) {
					t.Fatalf("error %v, want %v", err, test.err)
				}
				var unread []int
				for i := range got.Unread {
					unread = append(unread, got.Unread[i].Number)
				}
				if len(got.Certificates) != test.want || got.Repeats != test.repeats || !cmp.Equal(unread, test.unread) {
					t.Errorf("%d anchors, repeats %t, blocks %v are unread", len(got.Certificates), got.Repeats, unread)
				}
			}
			if _, err := ParseChain(test.pem); len(test.unread) > 0 && !errors.Is(err, ErrInvalidCertificate) {
				t.Errorf("as a chain: %v", err)
			}
		})
	}
}

func TestEncodeAnchors(t *testing.T) {
	a, b := authorities[ECDSAP256]().Certificate, authorities[Ed25519]().Certificate
	negative := pemBlock("CERTIFICATE", withSerial(t, a.DER(), big.NewInt(-5)))
	both := []*Certificate{a, b}
	tests := map[string]struct {
		former  []byte
		anchors []*Certificate
		want    []byte
	}{
		"without a former":    {anchors: both, want: join(a.PEM(), b.PEM())},
		"a former is damaged": {former: []byte("-----BEGIN "), anchors: both, want: join(a.PEM(), b.PEM())},
		"first":               {former: join(negative, a.PEM()), anchors: both, want: join(negative, a.PEM(), b.PEM())},
		"between":             {former: join(a.PEM(), negative, b.PEM()), anchors: both, want: join(a.PEM(), negative, b.PEM())},
		"behind all":          {former: join(a.PEM(), b.PEM(), negative), anchors: both[1:], want: join(b.PEM(), negative)},
		"text is not kept":    {former: join([]byte("# CA\n"), negative), anchors: both[:1], want: join(negative, a.PEM())},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(string(test.want), string(EncodeAnchors(test.former, test.anchors...))); diff != "" {
				t.Errorf("EncodeAnchors (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzEncodeAnchors: a bundle that is written again holds the same.
func FuzzEncodeAnchors(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
		f.Add(join(seed, pemBlock("CERTIFICATE", []byte("garbage"))))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		was, err := ParseAnchors(data)
		if err != nil {
			return
		}
		is, err := ParseAnchors(EncodeAnchors(data, was.Certificates...))
		if err != nil || len(is.Unread) != len(was.Unread) {
			t.Fatalf("%d of %d unread blocks: %v", len(is.Unread), len(was.Unread), err)
		}
		for i := range is.Unread {
			if is.Unread[i].Fingerprint != was.Unread[i].Fingerprint {
				t.Errorf("unread block %d changed", i)
			}
		}
		if diff := cmp.Diff(fingerprints(was.Certificates), fingerprints(is.Certificates)); diff != "" {
			t.Errorf("anchors (-was +is):\n%s", diff)
		}
	})
}
