// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"testing"
	"time"
)

// TestCheckLeaf compares CheckLeaf with the verdict of crypto/x509 on a leaf that the CA really signed. It accepts some
// leaves that others refuse.
func TestCheckLeaf(t *testing.T) {
	tests := []struct {
		name     string
		restrict func(c *x509.Certificate)
		profile  func(p *Profile)
		refused  bool
		// byOthers says that crypto/x509 is not among those that refuse it.
		byOthers bool
	}{
		{name: "nothing restricts it", restrict: func(*x509.Certificate) {}},
		{name: "a path length of none", restrict: func(c *x509.Certificate) { c.MaxPathLenZero = true }},
		{name: "both usages", restrict: func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		}},
		{name: "any usage", restrict: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} }, refused: true, byOthers: true},
		{name: "clients only", restrict: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, refused: true},
		{name: "clients only, and the leaf is one", restrict: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
			profile: func(p *Profile) { p.Usages = []Usage{ClientAuth} }},
		{name: "names that the leaf has", restrict: func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"mtls-demo.svc", "localhost"} }},
		{name: "other names", restrict: func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"example.com"} }, refused: true},
		{name: "names of which the leaf has none", restrict: func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"example.com"} },
			profile: func(p *Profile) { p.DNSNames = nil }, refused: true, byOthers: true},
		{name: "a common name that is permitted", restrict: func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"example.com"} },
			profile: func(p *Profile) { p.DNSNames, p.CommonName = nil, "web.Example.com" }},
		{name: "a common name that is excluded", restrict: func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"example.com"} },
			profile: func(p *Profile) { p.DNSNames, p.CommonName = nil, "web.example.com" }, refused: true, byOthers: true},
		{name: "no alternative name under constraints", restrict: func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"example.com"} },
			profile: func(p *Profile) { p.DNSNames, p.IPAddresses = nil, nil }, refused: true, byOthers: true},
		{name: "a name that is excluded", restrict: func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"localhost"} }, refused: true},
		{name: "other addresses", restrict: func(c *x509.Certificate) {
			c.PermittedIPRanges = []*net.IPNet{{IP: net.IPv4(10, 0, 0, 0).To4(), Mask: net.CIDRMask(8, 32)}}
		}, refused: true},
		{name: "an unknown critical extension", restrict: func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: []int{1, 3, 6, 1, 4, 1, 99999, 1}, Critical: true, Value: []byte{5, 0}}}
		}, refused: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			profile := leafProfile(ECDSAP256)
			if tt.profile != nil {
				tt.profile(&profile)
			}
			key := must(GenerateKey(ECDSAP256))
			der := forgeDER(t, key, nil, tt.restrict)
			authority := must(ParseCertificate(der))
			got := authority.CheckLeaf(profile, 0)
			if refused := errors.Is(got, ErrRestricted); refused != tt.refused || (got != nil && !refused) {
				t.Errorf("CheckLeaf: %v, want refused %t", got, tt.refused)
			}
			leaf := leafTemplate(must(profile.Normalized()), authority, testNow)
			issued := must(signPublic(leaf, must(x509.ParseCertificate(der)), key.Public(), key))
			roots := x509.NewCertPool()
			roots.AddCert(must(x509.ParseCertificate(der)))
			for _, usage := range extended(profile.Usages) {
				_, err := must(x509.ParseCertificate(issued.DER())).Verify(x509.VerifyOptions{
					Roots: roots, CurrentTime: testNow.Add(time.Minute), KeyUsages: []x509.ExtKeyUsage{usage},
				})
				if err != nil && !tt.refused {
					t.Errorf("a real leaf is refused: %v", err)
				}
				if err == nil && tt.refused && !tt.byOthers && usage != x509.ExtKeyUsageClientAuth {
					t.Error("a real leaf is accepted")
				}
			}
		})
	}
}
