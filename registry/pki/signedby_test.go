// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"sync"
	"testing"
	"time"
)

func TestSignedBy(t *testing.T) {
	named := func(cn string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: cn} }
	}
	key := newECKey(t)
	root := forgePair(t, key, named("root"))
	bare := func(c *x509.Certificate) {
		c.Subject, c.IsCA, c.SubjectKeyId = pkix.Name{CommonName: "leaf"}, false, nil
	}
	withAKI := func(aki string) func(*x509.Certificate) {
		return func(c *x509.Certificate) { bare(c); c.AuthorityKeyId = []byte(aki) }
	}
	leaf := forge(t, newECKey(t), root, withAKI("own"))
	bareLeaf := forge(t, newECKey(t), root, bare)
	wrongAKI := forge(t, newECKey(t), root, withAKI("other"))
	otherKey := forge(t, newECKey(t), nil, named("root"))
	otherKeyOtherID := forge(t, newECKey(t), nil, func(c *x509.Certificate) { named("root")(c); c.SubjectKeyId = []byte("second") })
	expired := forge(t, key, nil, func(c *x509.Certificate) {
		named("root")(c)
		c.NotBefore, c.NotAfter = testNow.AddDate(-2, 0, 0), testNow.AddDate(-1, 0, 0)
	})
	renewed := forge(t, key, nil, func(c *x509.Certificate) { named("root")(c); c.SerialNumber = big.NewInt(2) })
	sameKeyOtherName := forge(t, key, nil, named("Root"))
	notCA := forge(t, key, nil, func(c *x509.Certificate) { named("root")(c); c.IsCA = false })
	mayNotSign := forge(t, key, nil, func(c *x509.Certificate) { named("root")(c); c.KeyUsage = x509.KeyUsageCRLSign })
	noID := forge(t, key, nil, func(c *x509.Certificate) { named("root")(c); c.SubjectKeyId = []byte{} })

	tests := map[string]struct {
		cert, ca *Certificate
		want     bool
	}{
		"its signer":                             {leaf, root.Certificate, true},
		"no AKI":                                 {bareLeaf, root.Certificate, true},
		"wrong AKI":                              {wrongAKI, root.Certificate, true},
		"wrong AKI, signer without SKI":          {wrongAKI, stripID(noID), true},
		"root by itself":                         {root.Certificate, root.Certificate, true},
		"same subject and SKI, other key":        {leaf, otherKey, false},
		"same subject, other key and SKI":        {leaf, otherKeyOtherID, false},
		"no AKI, same subject, other key":        {bareLeaf, otherKey, false},
		"expired anchor, same key":               {leaf, expired, true},
		"renewed anchor, same key":               {leaf, renewed, true},
		"same key, name differs in case":         {leaf, sameKeyOtherName, false},
		"non-CA anchor":                          {leaf, notCA, false},
		"anchor whose key usage forbids signing": {leaf, mayNotSign, false},
		"leaf as signer":                         {root.Certificate, leaf, false},
		"nil":                                    {leaf, nil, false},
		"certificate that was not parsed":        {&Certificate{IsCA: true}, &Certificate{IsCA: true}, false},
		"signer that was not parsed":             {withoutIssuer(leaf), &Certificate{IsCA: true}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second answer may come from the cache
				if got := test.cert.SignedBy(test.ca); got != test.want {
					t.Errorf("SignedBy = %t, want %t", got, test.want)
				}
			}
		})
	}
}

// TestIdentifies: of two CAs with one name and key, OpenSSL takes the one with the identifier and the serial number that
// a certificate names, as far as both have them.
func TestIdentifies(t *testing.T) {
	key := newECKey(t)
	root := forgePair(t, key, nil)
	renewed := forge(t, key, nil, func(c *x509.Certificate) { c.SerialNumber = big.NewInt(2) })
	another := forge(t, key, nil, func(c *x509.Certificate) { c.SubjectKeyId = []byte("another") })
	named := func(id string, serial *big.Int, issuer []asn1.RawValue) *Certificate {
		return forge(t, newECKey(t), root, func(c *x509.Certificate) {
			c.IsCA, c.SubjectKeyId = false, nil
			value := must(asn1.Marshal(struct {
				KeyID  []byte          `asn1:"optional,omitempty,tag:0"`
				Issuer []asn1.RawValue `asn1:"optional,omitempty,tag:1"`
				Serial *big.Int        `asn1:"optional,tag:2"`
			}{[]byte(id), issuer, serial}))
			c.ExtraExtensions = []pkix.Extension{{Id: oidAuthorityKeyID(), Value: value}}
		})
	}
	leaf := func(id string, serial *big.Int) *Certificate { return named(id, serial, nil) }
	by := func(raw []byte) []asn1.RawValue {
		return []asn1.RawValue{{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: raw}}
	}
	for name, tt := range map[string]struct {
		cert, ca *Certificate
		want     bool
	}{
		"the serial and its issuer":         {named("", big.NewInt(1), by(root.Certificate.rawIssuer)), root.Certificate, true},
		"the serial of another issuer":      {named("", big.NewInt(1), by(must(asn1.Marshal(pkix.Name{CommonName: "other"}.ToRDNSequence())))), root.Certificate, false},
		"the identifier":                    {leaf("own", nil), root.Certificate, true},
		"the identifier, another serial":    {leaf("own", nil), renewed, true},
		"another identifier":                {leaf("own", nil), another, false},
		"the serial":                        {leaf("", big.NewInt(1)), root.Certificate, true},
		"the serial of the former":          {leaf("", big.NewInt(1)), renewed, false},
		"both":                              {leaf("own", big.NewInt(1)), root.Certificate, true},
		"both, of the former":               {leaf("own", big.NewInt(1)), renewed, false},
		"both, of one with another id":      {leaf("own", big.NewInt(1)), another, false},
		"the identifier of one without any": {leaf("own", nil), stripID(another), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.cert.Identifies(tt.ca, 0); got != tt.want {
				t.Errorf("%t, want %t", got, tt.want)
			}
		})
	}
}

// stripID removes the key identifier of a signer, because CreateCertificate adds one to every CA.
func stripID(cert *Certificate) *Certificate {
	bare := must(ParseCertificate(cert.DER()))
	bare.SubjectKeyID = ""
	return bare
}

// withoutIssuer returns a certificate with valid DER and an empty issuer.
func withoutIssuer(cert *Certificate) *Certificate {
	bare := must(ParseCertificate(cert.DER()))
	bare.rawIssuer, bare.AuthorityKeyID = nil, ""
	return bare
}

func TestSignedByMemo(t *testing.T) {
	key := newECKey(t)
	first := forgePair(t, key, nil)
	second := forge(t, key, nil, func(c *x509.Certificate) { c.NotAfter = testNow.Add(2 * time.Hour) })
	leaf := forge(t, newECKey(t), first, func(c *x509.Certificate) { c.Subject.CommonName = "leaf"; c.IsCA = false })

	if leaf.signer.Load() != nil {
		t.Fatal("a parsed certificate already has a signer")
	}
	if !leaf.SignedBy(first.Certificate) || leaf.signer.Load() != first.Certificate {
		t.Error("the first signer is not remembered")
	}
	again := must(ParseCertificate(first.Certificate.DER()))
	if !leaf.SignedBy(again) || leaf.signer.Load() != first.Certificate {
		t.Error("an equal signer is not recognised")
	}
	stranger := forge(t, newECKey(t), nil, nil)
	for other, want := range map[*Certificate]bool{second: true, stranger: false} {
		if signed := leaf.SignedBy(other); signed != want {
			t.Errorf("signed by %s: %t, want %t", other.Subject, signed, want)
		}
		if signed, known := leaf.answers.get(hasSigned, 0, other); !known || signed != want {
			t.Errorf("%s is remembered as %t (known: %t), want %t", other.Subject, signed, known, want)
		}
	}
	if leaf.signer.Load() != first.Certificate {
		t.Error("another certificate of the same key has taken the place of the first")
	}
}

func TestSignedByConcurrently(t *testing.T) {
	root := forgePair(t, newECKey(t), nil)
	leaf := forge(t, newECKey(t), root, func(c *x509.Certificate) { c.Subject.CommonName = "leaf"; c.IsCA = false })
	stranger := forge(t, newECKey(t), nil, nil)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if !leaf.SignedBy(root.Certificate) || leaf.SignedBy(stranger) {
				t.Error("wrong answer under concurrency")
			}
		})
	}
	group.Wait()
}
