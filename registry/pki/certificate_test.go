// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParseCertificateFacts(t *testing.T) {
	key := newECKey(t)
	der := forgeDER(t, key, nil, func(c *x509.Certificate) {
		c.Subject = pkix.Name{CommonName: "a,b", Organization: []string{"system:masters"}}
		c.SerialNumber = big.NewInt(0xABC)
		c.SubjectKeyId, c.AuthorityKeyId = []byte{0xAA, 1}, []byte{0xBB, 2}
		c.DNSNames = []string{"z.example", "a.example"}
		c.IPAddresses = []net.IP{net.ParseIP("10.0.0.1"), net.ParseIP("2001:db8::1")}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning, x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
	})
	parsed := must(x509.ParseCertificate(der))
	hash := func(b []byte) string {
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	}
	want := &Certificate{
		Fingerprint: Fingerprint(hash(der)),
		Subject:     `CN=a\,b,O=system:masters`, Issuer: `CN=a\,b,O=system:masters`,
		CommonName:     "a,b",
		SubjectHash:    hash(parsed.RawSubject),
		SerialNumber:   "abc",
		KeyAlgorithm:   ECDSAP256,
		PublicKeyHash:  hash(parsed.RawSubjectPublicKeyInfo),
		NotBefore:      testNow.Add(-time.Hour),
		NotAfter:       testNow.Add(time.Hour),
		SubjectKeyID:   "aa01",
		AuthorityKeyID: "bb02",
		IsCA:           true,
		DNSNames:       []string{"z.example", "a.example"},
		IPAddresses:    []string{"10.0.0.1", "2001:db8::1"},
		Organizations:  []string{"system:masters"},
		Usages:         []Usage{ServerAuth, ClientAuth, CodeSigning},
	}
	got, err := ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	factsOnly := cmp.Options{
		cmpopts.IgnoreUnexported(Certificate{}),
		// Equal would compare only the fingerprint.
		cmp.Transformer("facts", func(c *Certificate) map[string]any {
			return map[string]any{
				"fingerprint": c.Fingerprint, "subject": c.Subject, "issuer": c.Issuer, "cn": c.CommonName,
				"subjectHash": c.SubjectHash, "serial": c.SerialNumber, "key": c.KeyAlgorithm, "spki": c.PublicKeyHash,
				"from": c.NotBefore, "to": c.NotAfter, "ski": c.SubjectKeyID, "aki": c.AuthorityKeyID, "ca": c.IsCA,
				"dns": c.DNSNames, "ip": c.IPAddresses, "o": c.Organizations, "usages": c.Usages,
			}
		}),
	}
	if diff := cmp.Diff(want, got, factsOnly); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

func TestParseCertificateFromHell(t *testing.T) {
	key := newECKey(t)
	sound := forgeDER(t, key, nil, nil)
	huge := new(big.Int).Lsh(big.NewInt(1), 400)
	tests := map[string]struct {
		der   []byte
		err   error
		check func(*Certificate) bool
	}{
		"empty":           {der: nil, err: ErrInvalidCertificate},
		"text":            {der: []byte("hello"), err: ErrInvalidCertificate},
		"cut":             {der: sound[:len(sound)-1], err: ErrInvalidCertificate},
		"trailing byte":   {der: append(bytes.Clone(sound), 0), err: ErrInvalidCertificate},
		"two in a row":    {der: join(sound, sound), err: ErrInvalidCertificate},
		"over the limit":  {der: make([]byte, MaxPEMBytes+1), err: ErrTooLarge},
		"negative serial": {der: withSerial(t, sound, big.NewInt(-5)), err: ErrInvalidCertificate},
		"zero serial":     {der: withSerial(t, sound, new(big.Int)), check: func(c *Certificate) bool { return c.SerialNumber == "0" }},
		"huge serial":     {der: withSerial(t, sound, huge), check: func(c *Certificate) bool { return c.SerialNumber == huge.Text(16) }},
		"not after 1950": {der: forgeDER(t, key, nil, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1950, 1, 2, 0, 0, 0, 0, time.UTC)
		}), check: func(c *Certificate) bool { return c.NotAfter.Year() == 1950 && c.Expired(testNow) }},
		"not after 9999":       {der: forgeDER(t, key, nil, func(c *x509.Certificate) { c.NotAfter = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC) }), check: func(c *Certificate) bool { return c.NotAfter.Year() == 9999 && c.ValidAt(testNow) }},
		"no subject":           {der: forgeDER(t, key, nil, func(c *x509.Certificate) { c.Subject = pkix.Name{} }), check: func(c *Certificate) bool { return c.Subject == "" && c.CommonName == "" }},
		"no SKI and AKI":       {der: forgeDER(t, key, nil, func(c *x509.Certificate) { c.IsCA = false; c.SubjectKeyId = nil }), check: func(c *Certificate) bool { return c.SubjectKeyID == "" && c.AuthorityKeyID == "" }},
		"any usage":            {der: forgeDER(t, key, nil, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }), check: func(c *Certificate) bool { return cmp.Equal(c.Usages, []Usage{ServerAuth, ClientAuth}) }},
		"other usage only":     {der: forgeDER(t, key, nil, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageIPSECTunnel} }), check: func(c *Certificate) bool { return len(c.Usages) == 0 }},
		"weak RSA":             {der: forgeDER(t, rsa1024(), nil, nil), check: func(c *Certificate) bool { return c.KeyAlgorithm == "RSA-1024" && !c.KeyAlgorithm.Valid() }},
		"CA that may not sign": {der: forgeDER(t, key, nil, func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageDigitalSignature }), check: func(c *Certificate) bool { return !c.IsCA }},
		"CA without key usage": {der: forgeDER(t, key, nil, func(c *x509.Certificate) { c.KeyUsage = 0 }), check: func(c *Certificate) bool { return c.IsCA }},
		"no basic constraints": {der: forgeDER(t, key, nil, func(c *x509.Certificate) { c.BasicConstraintsValid, c.IsCA = false, false }), check: func(c *Certificate) bool { return !c.IsCA }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cert, err := ParseCertificate(test.der)
			if !errors.Is(err, test.err) {
				t.Fatalf("ParseCertificate: %v, want %v", err, test.err)
			}
			if err == nil && !test.check(cert) {
				t.Errorf("unexpected facts: %+v", cert)
			}
		})
	}
}

func TestParseCertificateRefusesOversizedRSA(t *testing.T) {
	// Only the certified key is oversized: signing with an oversized key would be slow.
	key := *rsa1024()
	key.N = new(big.Int).Lsh(key.N, maxRSABits)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: testNow, NotAfter: testNow.Add(time.Hour)}
	signer := newECKey(t)
	der := must(x509.CreateCertificate(nil, template, template, &key.PublicKey, signer))
	if _, err := ParseCertificate(der); !errors.Is(err, ErrTooLarge) {
		t.Errorf("ParseCertificate: %v, want ErrTooLarge", err)
	}
}

func TestParseCertificateBoundsErrors(t *testing.T) {
	der := forgeDER(t, newECKey(t), nil, func(c *x509.Certificate) {
		c.DNSNames = []string{strings.Repeat("x", 5000)}
	})
	der = bytes.ReplaceAll(der, []byte("xxxxxxxx"), []byte("xxxxxxx\xff"))
	_, err := ParseCertificate(der)
	if !errors.Is(err, ErrInvalidCertificate) {
		t.Fatalf("ParseCertificate: %v, want ErrInvalidCertificate", err)
	}
	if len(err.Error()) > 2*maxErrorText {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
}

func TestParseCertificateCopiesItsInput(t *testing.T) {
	der := forgeDER(t, newECKey(t), nil, nil)
	original := bytes.Clone(der)
	cert := must(ParseCertificate(der))
	clear(der)
	if !bytes.Equal(cert.DER(), original) {
		t.Error("the certificate changed with the caller's slice")
	}
	clear(cert.DER())
	if !bytes.Equal(cert.DER(), original) {
		t.Error("the certificate changed with the slice that DER returned")
	}
	if !cert.SignedBy(cert) {
		t.Error("a self-signed root is not signed by itself")
	}
}

func TestCertificateValidity(t *testing.T) {
	cert := &Certificate{NotBefore: testNow, NotAfter: testNow.Add(time.Hour)}
	tests := map[string]struct {
		at             time.Time
		valid, expired bool
	}{
		"before":        {at: testNow.Add(-time.Second)},
		"first second":  {at: testNow, valid: true},
		"within":        {at: testNow.Add(time.Minute), valid: true},
		"last second":   {at: testNow.Add(time.Hour), valid: true},
		"just after":    {at: testNow.Add(time.Hour + 1), expired: true},
		"long after":    {at: testNow.Add(48 * time.Hour), expired: true},
		"other zone in": {at: testNow.In(time.FixedZone("x", 7200)), valid: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cert.ValidAt(test.at); got != test.valid {
				t.Errorf("ValidAt = %t, want %t", got, test.valid)
			}
			if got := cert.Expired(test.at); got != test.expired {
				t.Errorf("Expired = %t, want %t", got, test.expired)
			}
		})
	}
}

func TestCertificateEqual(t *testing.T) {
	a, b := leaves[Ed25519]().Certificate, authorities[Ed25519]().Certificate
	again := must(ParseCertificate(a.DER()))
	var none *Certificate
	tests := map[string]struct {
		left, right *Certificate
		want        bool
	}{
		"same pointer": {a, a, true},
		"same bytes":   {a, again, true},
		"other":        {a, b, false},
		"nil and nil":  {none, none, true},
		"nil left":     {none, a, false},
		"nil right":    {a, none, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.left.Equal(test.right); got != test.want {
				t.Errorf("Equal = %t, want %t", got, test.want)
			}
		})
	}
}
