// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"crypto/x509"
	"encoding/asn1"
	"math/big"
	"net"
	"net/url"
)

// identifiers are how the leaf names the key and the serial number of its issuer.
func identifiers(*draft) []shape {
	return []shape{
		{},
		{"no authority key identifier", func(d *draft) { d.authorityKey = nil }},
		{"another authority key identifier", func(d *draft) { d.authorityKey = another }},
		{"an anchor without key identifier", func(d *draft) { d.issuer.SubjectKeyId = nil }},
		{"an anchor with another key identifier", func(d *draft) { d.issuer.SubjectKeyId = another }},
		{"issuer and serial number", func(d *draft) { d.serial = big.NewInt(7) }},
		{"issuer and another serial number", func(d *draft) { d.serial = big.NewInt(9) }},
	}
}

// issuers are how the leaf spells the name of its issuer.
func issuers(*draft) []shape {
	spell := func(name string, tag int, text string) shape {
		return shape{name, func(d *draft) { d.name = nameOf(tag, text) }}
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
func names(*draft) []shape {
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

// restriction limits what an authority may sign.
type restriction struct {
	name string
	do   func(ca *x509.Certificate)
}

// restrictions are what an authority may sign.
func restrictions() []restriction {
	domain := func(names ...string) func(*x509.Certificate) {
		return func(ca *x509.Certificate) { ca.PermittedDNSDomains, ca.PermittedDNSDomainsCritical = names, true }
	}
	usage := func(usages ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(ca *x509.Certificate) { ca.ExtKeyUsage = usages }
	}
	_, network, _ := net.ParseCIDR("10.0.0.0/8")
	return []restriction{
		{"permits shop.svc", domain("shop.svc")},
		{"permits corp.example", domain("corp.example")},
		{"excludes corp.example", func(ca *x509.Certificate) {
			ca.ExcludedDNSDomains, ca.PermittedDNSDomainsCritical = []string{"corp.example"}, true
		}},
		{"excludes 10.0.0.0/8", func(ca *x509.Certificate) {
			ca.ExcludedIPRanges, ca.PermittedDNSDomainsCritical = []*net.IPNet{network}, true
		}},
		{"signs servers", usage(x509.ExtKeyUsageServerAuth)},
		{"signs clients", usage(x509.ExtKeyUsageClientAuth)},
		{"signs for any usage", usage(x509.ExtKeyUsageAny)},
		{"signs code", usage(x509.ExtKeyUsageCodeSigning)},
		{"path length 0", func(ca *x509.Certificate) { ca.MaxPathLenZero = true }},
		{"no key usage", func(ca *x509.Certificate) { ca.KeyUsage = 0 }},
		{"signs lists only", func(ca *x509.Certificate) { ca.KeyUsage = x509.KeyUsageCRLSign }},
	}
}

// ofIssuer are restrictions of the issuer of the leaf, ofRoot those of the root above it.
func ofIssuer(*draft) []shape {
	out := []shape{{}}
	for _, r := range restrictions() {
		out = append(out, shape{r.name, func(d *draft) { r.do(d.issuer) }})
	}
	return out
}

func ofRoot(d *draft) []shape {
	out := []shape{{}}
	if d.root == nil {
		return out
	}
	for _, r := range restrictions() {
		out = append(out, shape{"of the root: " + r.name, func(d *draft) { r.do(d.root) }})
	}
	return out
}

// usages are what the leaf is for.
func usages(*draft) []shape {
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
func (m *maker) algorithms(*draft) []shape {
	signer := func(i int) func(*draft) { return func(d *draft) { d.key = m.signers[i] } }
	return []shape{
		{},
		{"RSA", signer(1)},
		{"Ed25519", signer(2)},
		{"SHA-1", func(d *draft) { d.key, d.sha1 = m.signers[1], true }},
		{"SHA-384", func(d *draft) { d.leaf.SignatureAlgorithm = x509.ECDSAWithSHA384 }},
	}
}
