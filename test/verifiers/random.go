// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/url"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// PKI is a leaf and an anchor: its issuer, or an authority that resembles it.
type PKI struct {
	Anchor, Leaf *x509.Certificate
	// Shape names what is unusual about it.
	Shape []string
}

// Parsed returns both as registry/pki reads them.
func (p *PKI) Parsed() (anchor, leaf *pki.Certificate, err error) {
	if anchor, err = pki.ParseCertificate(p.Anchor.Raw); err != nil {
		return nil, nil, err
	}
	leaf, err = pki.ParseCertificate(p.Leaf.Raw)
	return anchor, leaf, err
}

// maker makes PKIs that are valid at a time, from keys that it makes once: one that signs for each algorithm, and one
// of the leaf.
type maker struct {
	rand    *mathrand.Rand
	at      time.Time
	signers []crypto.Signer
	leaf    crypto.Signer
}

func newMaker(random *mathrand.Rand, at time.Time) (*maker, error) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	prime, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return &maker{rand: random, at: at, signers: []crypto.Signer{curve, prime, edwards}, leaf: leaf}, nil
}

// shape is one choice: its name, "" if it is what everybody does, and what it does, nil for nothing.
type shape struct {
	name string
	do   func(*draft)
}

// Shaped makes a PKI with these shapes, and nothing else that is unusual. It is valid at a time.
func Shaped(at time.Time, names ...string) (*PKI, error) {
	m, err := newMaker(nil, at)
	if err != nil {
		return nil, err
	}
	return m.make(func(shapes []shape) shape {
		for _, s := range shapes {
			if slices.Contains(names, s.name) {
				return s
			}
		}
		return shapes[0]
	})
}

// random takes the first shape in most cases, and else another one.
func (m *maker) random(shapes []shape) shape {
	if m.rand.IntN(3) > 0 {
		return shapes[0]
	}
	return shapes[m.rand.IntN(len(shapes))]
}

// draft is what a PKI is made of.
type draft struct {
	key crypto.Signer
	// issuer is the raw name of the issuer in the leaf, nil for the subject of the anchor.
	issuer []byte
	// authorityKey is the authority key identifier of the leaf, nil for none. serial is with the serial number of the
	// issuer, in a form of RFC 5280.
	authorityKey []byte
	serial       *big.Int
	sha1         bool
	anchor, leaf *x509.Certificate
}

var (
	own     = []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	another = []byte{20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
)

// make makes a PKI with one shape of each kind.
func (m *maker) make(choose func([]shape) shape) (*PKI, error) {
	p := &PKI{}
	d := &draft{
		key: m.signers[0], authorityKey: own,
		anchor: &x509.Certificate{
			SerialNumber: big.NewInt(7), NotBefore: m.at.Add(-time.Hour), NotAfter: m.at.Add(24 * time.Hour), SubjectKeyId: own,
			RawSubject: nameOf(asn1.TagUTF8String, "Signer of web"), BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
		},
		leaf: &x509.Certificate{
			SerialNumber: big.NewInt(8), NotBefore: m.at.Add(-time.Minute), NotAfter: m.at.Add(time.Hour), RawSubject: nameOf(asn1.TagUTF8String, "web"),
			KeyUsage: x509.KeyUsageDigitalSignature, DNSNames: []string{"web.shop.svc"}, BasicConstraintsValid: true,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		},
	}
	for _, shapes := range [][]shape{m.algorithms(), identifiers(), issuers(), names(), restrictions(), usages()} {
		if s := choose(shapes); s.do != nil {
			s.do(d)
			p.Shape = append(p.Shape, s.name)
		}
	}
	var err error
	if p.Anchor, p.Leaf, err = d.sign(m.leaf); err != nil {
		return nil, fmt.Errorf("make a PKI with %q: %w", p.Shape, err)
	}
	return p, nil
}

// identifiers are how the leaf names the key and the serial number of its issuer.
func identifiers() []shape {
	return []shape{
		{},
		{"no authority key identifier", func(d *draft) { d.authorityKey = nil }},
		{"another authority key identifier", func(d *draft) { d.authorityKey = another }},
		{"an anchor without key identifier", func(d *draft) { d.anchor.SubjectKeyId = nil }},
		{"an anchor with another key identifier", func(d *draft) { d.anchor.SubjectKeyId = another }},
		{"issuer and serial number", func(d *draft) { d.serial = big.NewInt(7) }},
		{"issuer and another serial number", func(d *draft) { d.serial = big.NewInt(9) }},
	}
}

// issuers are how the leaf spells the name of its issuer.
func issuers() []shape {
	spell := func(name string, tag int, text string) shape {
		return shape{name, func(d *draft) { d.issuer = nameOf(tag, text) }}
	}
	return []shape{
		{},
		spell("issuer as a PrintableString", asn1.TagPrintableString, "Signer of web"),
		spell("issuer in lower case", asn1.TagUTF8String, "signer of web"),
		spell("issuer with more white space", asn1.TagUTF8String, " Signer  of web "),
		spell("another issuer", asn1.TagUTF8String, "Signer of mail"),
	}
}

// names are the alternative names of the leaf.
func names() []shape {
	return []shape{
		{},
		{"an address", func(d *draft) { d.leaf.IPAddresses = []net.IP{{10, 0, 0, 1}} }},
		{"another domain", func(d *draft) { d.leaf.DNSNames = []string{"web.corp.example"} }},
		{"no alternative name", func(d *draft) { d.leaf.DNSNames = nil }},
		{"an address alone", func(d *draft) { d.leaf.DNSNames, d.leaf.IPAddresses = nil, []net.IP{{10, 0, 0, 1}} }},
		{"a domain as its common name", func(d *draft) {
			d.leaf.DNSNames, d.leaf.RawSubject = nil, nameOf(asn1.TagUTF8String, "web.corp.example")
		}},
		{"a URI", func(d *draft) { d.leaf.URIs = []*url.URL{{Scheme: "spiffe", Host: "corp.example", Path: "/web"}} }},
	}
}

// restrictions are what the anchor may sign.
func restrictions() []shape {
	domain := func(names ...string) func(*draft) {
		return func(d *draft) { d.anchor.PermittedDNSDomains, d.anchor.PermittedDNSDomainsCritical = names, true }
	}
	usage := func(usages ...x509.ExtKeyUsage) func(*draft) {
		return func(d *draft) { d.anchor.ExtKeyUsage = usages }
	}
	_, network, _ := net.ParseCIDR("10.0.0.0/8")
	return []shape{
		{},
		{"permits shop.svc", domain("shop.svc")},
		{"permits corp.example", domain("corp.example")},
		{"excludes corp.example", func(d *draft) {
			d.anchor.ExcludedDNSDomains, d.anchor.PermittedDNSDomainsCritical = []string{"corp.example"}, true
		}},
		{"excludes 10.0.0.0/8", func(d *draft) {
			d.anchor.ExcludedIPRanges, d.anchor.PermittedDNSDomainsCritical = []*net.IPNet{network}, true
		}},
		{"signs servers", usage(x509.ExtKeyUsageServerAuth)},
		{"signs clients", usage(x509.ExtKeyUsageClientAuth)},
		{"signs for any usage", usage(x509.ExtKeyUsageAny)},
		{"signs code", usage(x509.ExtKeyUsageCodeSigning)},
		{"path length 0", func(d *draft) { d.anchor.MaxPathLenZero = true }},
		{"no key usage", func(d *draft) { d.anchor.KeyUsage = 0 }},
		{"signs lists only", func(d *draft) { d.anchor.KeyUsage = x509.KeyUsageCRLSign }},
	}
}

// usages are what the leaf is for.
func usages() []shape {
	usage := func(usages ...x509.ExtKeyUsage) func(*draft) {
		return func(d *draft) { d.leaf.ExtKeyUsage = usages }
	}
	return []shape{
		{},
		{"a server", usage(x509.ExtKeyUsageServerAuth)},
		{"a client", usage(x509.ExtKeyUsageClientAuth)},
		{"without extended usages", usage()},
		{"for any usage", usage(x509.ExtKeyUsageAny)},
		{"a server, and for any usage", usage(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageAny)},
		{"no key usage of the leaf", func(d *draft) { d.leaf.KeyUsage = 0 }},
	}
}

// algorithms are of the signature.
func (m *maker) algorithms() []shape {
	signer := func(i int) func(*draft) { return func(d *draft) { d.key = m.signers[i] } }
	return []shape{
		{},
		{"RSA", signer(1)},
		{"Ed25519", signer(2)},
		{"SHA-1", func(d *draft) { d.key, d.sha1 = m.signers[1], true }},
		{"SHA-384", func(d *draft) { d.leaf.SignatureAlgorithm = x509.ECDSAWithSHA384 }},
	}
}

// sign makes the certificates.
func (d *draft) sign(leafKey crypto.Signer) (anchor, leaf *x509.Certificate, err error) {
	// crypto/x509 gives every authority an identifier unless one is set, and copies it into what it signs.
	if d.anchor.SubjectKeyId == nil {
		d.anchor.ExtraExtensions = append(d.anchor.ExtraExtensions, constraintsExtension())
		d.anchor.BasicConstraintsValid, d.anchor.IsCA = false, false
	}
	der, err := x509.CreateCertificate(rand.Reader, d.anchor, d.anchor, d.key.Public(), d.key)
	if err != nil {
		return nil, nil, err
	}
	if anchor, err = x509.ParseCertificate(der); err != nil {
		return nil, nil, err
	}
	parent := *anchor
	parent.SubjectKeyId, d.leaf.AuthorityKeyId = nil, nil
	if d.issuer != nil {
		parent.RawSubject = d.issuer
	}
	if d.authorityKey != nil || d.serial != nil {
		d.leaf.ExtraExtensions = append(d.leaf.ExtraExtensions, identifierExtension(d.authorityKey, d.serial, parent.RawSubject))
	}
	if der, err = x509.CreateCertificate(rand.Reader, d.leaf, &parent, leafKey.Public(), d.key); err != nil {
		return nil, nil, err
	}
	if d.sha1 {
		if der, err = withSHA1(der, d.key); err != nil {
			return nil, nil, err
		}
	}
	leaf, err = x509.ParseCertificate(der)
	return anchor, leaf, err
}

func pemOf(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

var (
	commonName          = asn1.ObjectIdentifier{2, 5, 4, 3}
	basicConstraints    = asn1.ObjectIdentifier{2, 5, 29, 19}
	authorityIdentifier = asn1.ObjectIdentifier{2, 5, 29, 35}
	sha256WithRSA       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}
	sha1WithRSA         = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 5}
)

// attributesSET is encoded as a SET because of its name.
type attributesSET []struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// nameOf encodes a name of one common name, as a string of this type.
func nameOf(tag int, text string) []byte {
	name := make(attributesSET, 1)
	name[0].Type, name[0].Value = commonName, asn1.RawValue{Tag: tag, Bytes: []byte(text)}
	return encode([]attributesSET{name})
}

// constraintsExtension says that a certificate is an authority.
func constraintsExtension() pkix.Extension {
	return pkix.Extension{Id: basicConstraints, Critical: true, Value: encode(struct{ IsCA bool }{true})}
}

// identifierExtension names an issuer by its key, and by its name and serial number.
func identifierExtension(key []byte, serial *big.Int, issuer []byte) pkix.Extension {
	named := struct {
		KeyID  []byte        `asn1:"optional,omitempty,tag:0"`
		Issuer asn1.RawValue `asn1:"optional"`
		Serial *big.Int      `asn1:"optional,tag:2"`
	}{KeyID: key, Serial: serial}
	if serial != nil {
		directory := encode(asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 4, IsCompound: true, Bytes: issuer})
		named.Issuer = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 1, IsCompound: true, Bytes: directory}
	}
	return pkix.Extension{Id: authorityIdentifier, Value: encode(named)}
}

// withSHA1 signs a certificate of an RSA key again, with SHA-1.
func withSHA1(der []byte, key crypto.Signer) ([]byte, error) {
	var cert struct {
		Body      asn1.RawValue
		Algorithm asn1.RawValue
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &cert); err != nil {
		return nil, err
	}
	former, now := encode(sha256WithRSA), encode(sha1WithRSA)
	cert.Body = asn1.RawValue{FullBytes: bytes.Replace(cert.Body.FullBytes, former, now, 1)}
	cert.Algorithm = asn1.RawValue{FullBytes: bytes.Replace(cert.Algorithm.FullBytes, former, now, 1)}
	digest := sha1.Sum(cert.Body.FullBytes)
	signature, err := key.Sign(rand.Reader, digest[:], crypto.SHA1)
	if err != nil {
		return nil, err
	}
	cert.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	return encode(cert), nil
}

func encode(v any) []byte {
	der, err := asn1.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return der
}
