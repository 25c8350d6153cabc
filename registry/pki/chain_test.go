// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseChain(t *testing.T) {
	leaf, ca := leaves[ECDSAP256]().Certificate, authorities[ECDSAP256]().Certificate
	key := keyPEM(t, leaves[ECDSAP256]())
	one, two := leaf.PEM(), ca.PEM()
	headers := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: leaf.DER()})
	tests := map[string]struct {
		pem  []byte
		want []*Certificate
		err  error
	}{
		"one":                       {pem: one, want: []*Certificate{leaf}},
		"leaf first":                {pem: join(one, two), want: []*Certificate{leaf, ca}},
		"signer first":              {pem: join(two, one), want: []*Certificate{ca, leaf}},
		"duplicates stay":           {pem: join(one, two, one), want: []*Certificate{leaf, ca, leaf}},
		"CRLF":                      {pem: bytes.ReplaceAll(join(one, two), []byte("\n"), []byte("\r\n")), want: []*Certificate{leaf, ca}},
		"no newline at the end":     {pem: bytes.TrimSpace(one), want: []*Certificate{leaf}},
		"spaces after the end line": {pem: join(bytes.TrimSpace(one), []byte(" \t\n"), two), want: []*Certificate{leaf, ca}},
		"blank lines":               {pem: join([]byte("\n\n"), one, []byte("\n\n"), two, []byte("\n")), want: []*Certificate{leaf, ca}},
		"comments":                  {pem: join([]byte("# subject=x\n"), one, []byte("i:CN = y\n"), two, []byte("end\n")), want: []*Certificate{leaf, ca}},

		"nil":                         {err: ErrNoCertificate},
		"only space":                  {pem: []byte(" \n"), err: ErrNoCertificate},
		"only text":                   {pem: []byte("hello"), err: ErrNoCertificate},
		"DER":                         {pem: leaf.DER(), err: ErrNoCertificate},
		"cut in the body":             {pem: one[:len(one)/2], err: ErrMalformedPEM},
		"cut, then whole":             {pem: join(one[:len(one)/2], []byte("\n"), two), err: ErrMalformedPEM},
		"whole, then cut":             {pem: join(two, one[:40]), err: ErrMalformedPEM},
		"end only":                    {pem: one[40:], err: ErrMalformedPEM},
		"whole, then end":             {pem: join(two, one[40:]), err: ErrMalformedPEM},
		"end, then whole":             {pem: join(one[40:], two), err: ErrMalformedPEM},
		"joined without newline":      {pem: join(bytes.TrimSpace(one), two), err: ErrMalformedPEM},
		"text after the end line":     {pem: join(bytes.TrimSpace(one), []byte("garbage\n")), err: ErrMalformedPEM},
		"indented":                    {pem: join([]byte("  "), one), err: ErrMalformedPEM},
		"byte order mark":             {pem: join([]byte("\xef\xbb\xbf"), one), err: ErrMalformedPEM},
		"carriage returns only":       {pem: bytes.ReplaceAll(one, []byte("\n"), []byte("\r")), err: ErrMalformedPEM},
		"not base64":                  {pem: bytes.Replace(one, []byte("MII"), []byte("M*I"), 1), err: ErrMalformedPEM},
		"begin and end differ":        {pem: bytes.Replace(one, []byte("END CERTIFICATE"), []byte("END CERTIFICATF"), 1), err: ErrMalformedPEM},
		"private key":                 {pem: join(one, key), err: ErrBlockType},
		"unknown block":               {pem: pemBlock("SECRET SAUCE", []byte("x")), err: ErrBlockType},
		"trusted certificate":         {pem: pemBlock("TRUSTED CERTIFICATE", leaf.DER()), err: ErrBlockType},
		"headers":                     {pem: headers, err: ErrBlockType},
		"certificate of garbage":      {pem: pemBlock("CERTIFICATE", []byte("garbage")), err: ErrInvalidCertificate},
		"certificate of nothing":      {pem: pemBlock("CERTIFICATE", nil), err: ErrInvalidCertificate},
		"certificate with more bytes": {pem: pemBlock("CERTIFICATE", append(leaf.DER(), 0)), err: ErrInvalidCertificate},
		"over the limit":              {pem: make([]byte, MaxPEMBytes+1), err: ErrTooLarge},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseChain(test.pem)
			if !errors.Is(err, test.err) {
				t.Fatalf("ParseChain: %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(fingerprints(test.want), fingerprints(got)); diff != "" {
				t.Errorf("chain (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseChainNeverQuotesInput(t *testing.T) {
	key := keyPEM(t, leaves[ECDSAP256]())
	tests := map[string][]byte{
		"private key":            key,
		"block with a free name": pemBlock("hunter2", []byte("x")),
		"key as certificate":     bytes.ReplaceAll(key, []byte("PRIVATE KEY"), []byte("CERTIFICATE")),
		"cut key":                key[:len(key)-30],
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := ParseChain(data)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, secret := range []string{"hunter2", strings.Split(string(key), "\n")[1][:20]} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error quotes its input: %v", err)
				}
			}
		})
	}
}

func TestParseBundle(t *testing.T) {
	a, b := authorities[ECDSAP256]().Certificate, authorities[Ed25519]().Certificate
	expired := forge(t, newECKey(t), nil, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = testNow.AddDate(-2, 0, 0), testNow.AddDate(-1, 0, 0)
	})
	leaf := leaves[ECDSAP256]().Certificate
	tests := map[string]struct {
		pem  []byte
		want []*Certificate
		err  error
	}{
		"two":                     {pem: EncodeCertificates(a, b), want: []*Certificate{a, b}},
		"order is kept":           {pem: EncodeCertificates(b, a), want: []*Certificate{b, a}},
		"duplicates go":           {pem: EncodeCertificates(b, a, b, b, a), want: []*Certificate{b, a}},
		"expired anchors stay":    {pem: EncodeCertificates(expired, a), want: []*Certificate{expired, a}},
		"non-CA anchors stay":     {pem: EncodeCertificates(leaf, a), want: []*Certificate{leaf, a}},
		"empty":                   {err: ErrEmptyBundle},
		"only a comment":          {pem: []byte("# nothing here\n"), err: ErrEmptyBundle},
		"one damaged of two":      {pem: join(a.PEM(), b.PEM()[:50]), err: ErrMalformedPEM},
		"a key among the anchors": {pem: join(a.PEM(), keyPEM(t, leaves[Ed25519]())), err: ErrBlockType},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseBundle(test.pem)
			if !errors.Is(err, test.err) {
				t.Fatalf("ParseBundle: %v, want %v", err, test.err)
			}
			if diff := cmp.Diff(fingerprints(test.want), fingerprints(got)); diff != "" {
				t.Errorf("bundle (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseBundleOfTheMostAnchors(t *testing.T) {
	// Share one key and signature between many serial numbers: the test only parses.
	der := forgeDER(t, must(GenerateKey(Ed25519)), nil, nil)
	var data []byte
	for i := range MaxCertificates {
		data = append(data, pemBlock(blockCertificate, withSerial(t, der, big.NewInt(int64(i+1))))...)
	}
	anchors, err := ParseBundle(data)
	if err != nil || len(anchors) != MaxCertificates {
		t.Fatalf("ParseBundle: %d anchors, %v", len(anchors), err)
	}
	if got := EncodeCertificates(anchors...); !bytes.Equal(got, data) {
		t.Error("encoding the anchors does not give the same PEM")
	}
}

func TestParseChainOfTooManyCertificates(t *testing.T) {
	key := must(GenerateKey(Ed25519))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: testNow, NotAfter: testNow.Add(time.Hour)}
	small := pemBlock(blockCertificate, must(x509.CreateCertificate(nil, template, template, key.Public(), key)))
	if certs, err := ParseChain(bytes.Repeat(small, MaxCertificates)); err != nil || len(certs) != MaxCertificates {
		t.Errorf("at the limit: %d certificates, %v", len(certs), err)
	}
	if _, err := ParseChain(bytes.Repeat(small, MaxCertificates+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v, want ErrTooLarge", err)
	}
}

func TestParseChainOfHostileMarkers(t *testing.T) {
	tests := map[string]error{
		"-----BEGIN \n":                        ErrMalformedPEM,
		"-----END \n":                          ErrMalformedPEM,
		"-----BEGIN A-----\n-----END A-----\n": ErrBlockType,
	}
	for marker, want := range tests {
		data := []byte(strings.Repeat(marker, MaxPEMBytes/len(marker)))
		if _, err := ParseChain(data); !errors.Is(err, want) {
			t.Errorf("ParseChain of many %q: %v, want %v", marker, err, want)
		}
	}
}

func TestEncodeCertificates(t *testing.T) {
	a, b := authorities[ECDSAP256]().Certificate, authorities[Ed25519]().Certificate
	if got := EncodeCertificates(); len(got) != 0 {
		t.Errorf("no certificates encode as %q", got)
	}
	if got, want := EncodeCertificates(b, a), slices.Concat(b.PEM(), a.PEM()); !bytes.Equal(got, want) {
		t.Errorf("EncodeCertificates = %q, want %q", got, want)
	}
}
