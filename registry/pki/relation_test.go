// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"testing"
)

// TestAcceptedIntermediate: a root accepts an intermediate only if verifiers accept what the intermediate signs, as far
// as the intermediate accepts it. Verdicts of OpenSSL, GnuTLS and crypto/x509: test/verifiers.
func TestAcceptedIntermediate(t *testing.T) {
	free := func(*x509.Certificate) {}
	leavesOnly := func(c *x509.Certificate) { c.MaxPathLen, c.MaxPathLenZero = 0, true }
	oneBelow := func(c *x509.Certificate) { c.MaxPathLen = 1 }
	excludes := func(c *x509.Certificate) { c.ExcludedDNSDomains = []string{"corp.example"} }
	permits := func(c *x509.Certificate) { c.PermittedDNSDomains = []string{"shop.svc"} }
	usages := func(of ...x509.ExtKeyUsage) func(*x509.Certificate) {
		return func(c *x509.Certificate) { c.ExtKeyUsage = of }
	}
	for name, tt := range map[string]struct {
		root, intermediate func(*x509.Certificate)
		by                 Verifiers
		want               bool
	}{
		"nothing restricts it":                     {free, free, 0, true},
		"the root signs leaves only":               {leavesOnly, free, 0, false},
		"the root signs leaves only, to Go":        {leavesOnly, free, Go, false},
		"the root has one authority below it":      {oneBelow, free, 0, true},
		"the intermediate signs leaves only":       {free, leavesOnly, 0, true},
		"names are excluded":                       {excludes, free, 0, false},
		"names are excluded by both":               {excludes, excludes, 0, true},
		"names are permitted":                      {permits, free, Go, false},
		"names are permitted by both":              {permits, permits, 0, true},
		"names are permitted by the intermediate":  {free, permits, 0, true},
		"the root signs servers, both usages":      {usages(x509.ExtKeyUsageServerAuth), free, 0, false},
		"the root signs servers, any usage":        {usages(x509.ExtKeyUsageServerAuth), usages(x509.ExtKeyUsageAny), Go, false},
		"the root signs servers, servers":          {usages(x509.ExtKeyUsageServerAuth), usages(x509.ExtKeyUsageServerAuth), 0, true},
		"the intermediate signs for any usage":     {free, usages(x509.ExtKeyUsageAny), 0, true},
		"the root signs for any usage, to GnuTLS":  {usages(x509.ExtKeyUsageAny), free, GnuTLS, true},
		"the root signs for any usage, to Go":      {usages(x509.ExtKeyUsageAny), free, Go, true},
		"the root signs for any usage, to OpenSSL": {usages(x509.ExtKeyUsageAny), free, OpenSSL, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := forgePair(t, newECKey(t), func(c *x509.Certificate) { c.MaxPathLen = -1; tt.root(c) })
			intermediate := forge(t, newECKey(t), root, func(c *x509.Certificate) {
				c.Subject, c.SubjectKeyId, c.AuthorityKeyId, c.MaxPathLen = pkix.Name{CommonName: "intermediate"}, []byte("below"), []byte("own"), -1
				tt.intermediate(c)
			})
			for range 2 { // the second answer may come from the cache
				if got := intermediate.AcceptedBy(root.Certificate, tt.by); got != tt.want {
					t.Errorf("AcceptedBy = %t, want %t", got, tt.want)
				}
			}
			if !intermediate.MayBeAcceptedBy(root.Certificate) {
				t.Error("MayBeAcceptedBy = false")
			}
		})
	}
}
