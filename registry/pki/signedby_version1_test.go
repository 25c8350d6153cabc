// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"
)

// version1 returns the DER of a self-signed X.509 version 1 certificate. It has no extensions, so it does not say
// whether it is a CA. crypto/x509 accepts its signatures.
func version1(t *testing.T, name string, key ed25519.PrivateKey) []byte {
	t.Helper()
	algorithm := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 3, 101, 112}}
	encode := func(v any) []byte {
		der, err := asn1.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	subject := encode(pkix.Name{CommonName: name}.ToRDNSequence())
	body := encode(struct {
		Serial    *big.Int
		Algorithm pkix.AlgorithmIdentifier
		Issuer    asn1.RawValue
		Validity  struct{ NotBefore, NotAfter time.Time }
		Subject   asn1.RawValue
		Key       asn1.RawValue
	}{
		big.NewInt(1), algorithm, asn1.RawValue{FullBytes: subject},
		struct{ NotBefore, NotAfter time.Time }{time.Unix(1_700_000_000, 0).UTC(), time.Unix(1_900_000_000, 0).UTC()},
		asn1.RawValue{FullBytes: subject}, asn1.RawValue{FullBytes: public},
	})
	return encode(struct {
		Body      asn1.RawValue
		Algorithm pkix.AlgorithmIdentifier
		Signature asn1.BitString
	}{asn1.RawValue{FullBytes: body}, algorithm, asn1.BitString{Bytes: ed25519.Sign(key, body), BitLength: 512}})
}

// TestVersion1SignsNothing: a certificate that is not marked as a CA does not count as a signer, although
// crypto/x509 accepts its signatures.
func TestVersion1SignsNothing(t *testing.T) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, err := x509.ParseCertificate(version1(t, "old", key))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"},
		NotBefore: parent.NotBefore, NotAfter: parent.NotAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if err := leaf.CheckSignatureFrom(parent); err != nil {
		t.Fatalf("the premise is wrong: %v", err)
	}
	ca, err := ParseCertificate(parent.Raw)
	if err != nil {
		t.Fatal(err)
	}
	child, err := ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if ca.IsCA || child.SignedBy(ca) {
		t.Errorf("CA %t, has signed %t", ca.IsCA, child.SignedBy(ca))
	}
}
