// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// authorityUnder forges an authority with a name, signed by a parent, nil for a root.
func authorityUnder(t *testing.T, name string, parent *Pair, edit func(*x509.Certificate)) *Pair {
	t.Helper()
	key := newECKey(t)
	return &Pair{key: seal(key), Certificate: forge(t, key, parent, func(c *x509.Certificate) {
		c.Subject, c.SubjectKeyId = pkix.Name{CommonName: name}, []byte(name)
		if parent != nil {
			c.AuthorityKeyId = []byte(parent.Certificate.CommonName)
		}
		if c.MaxPathLen = -1; edit != nil {
			edit(c)
		}
	})}
}

func TestPath(t *testing.T) {
	root, other := authorityUnder(t, "root", nil, nil), authorityUnder(t, "other", nil, nil)
	upper := authorityUnder(t, "upper", root, nil)
	lower := authorityUnder(t, "lower", upper, nil)
	// The other root has signed the key of root, as it would for clients that do not know root yet.
	cross := &Pair{Certificate: forge(t, root.key(), other, func(c *x509.Certificate) {
		c.Subject, c.SubjectKeyId, c.AuthorityKeyId, c.MaxPathLen = pkix.Name{CommonName: "root"}, []byte("root"), []byte("other"), -1
	})}
	short := authorityUnder(t, "short", nil, func(c *x509.Certificate) { c.MaxPathLen, c.MaxPathLenZero = 0, true })
	strayed := authorityUnder(t, "strayed", root, func(c *x509.Certificate) { c.AuthorityKeyId = []byte("elsewhere") })
	below := authorityUnder(t, "below", short, nil)
	constrained := authorityUnder(t, "constrained", nil, func(c *x509.Certificate) {
		c.PermittedDNSDomainsCritical, c.PermittedDNSDomains = true, []string{"example.com"}
	})
	within := authorityUnder(t, "within", constrained, nil)

	tests := map[string]struct {
		of    *Pair
		known []*Pair
		by    Verifiers
		want  string
		err   string
	}{
		"a root":                          {of: root, known: []*Pair{root, other}},
		"no root is known":                {of: lower, known: []*Pair{upper}},
		"nothing is known":                {of: lower},
		"by one intermediate":             {of: lower, known: []*Pair{root, other, upper}, want: "upper root"},
		"the shorter of two":              {of: lower, known: []*Pair{other, cross, root, upper}, want: "upper root"},
		"by a cross-signed root alone":    {of: lower, known: []*Pair{other, cross, upper}, want: "upper root other"},
		"a path length of none":           {of: below, known: []*Pair{short}, want: "short", err: "path length of CN=short permits 0"},
		"name constraints above":          {of: within, known: []*Pair{constrained}, want: "constrained", err: "do not accept its constraints"},
		"another key identifier":          {of: strayed, known: []*Pair{root}, want: "root", err: "some verifiers do not find it"},
		"another key identifier, Go only": {of: strayed, known: []*Pair{root}, by: Go, want: "root"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var known []*Certificate
			for _, pair := range tt.known {
				known = append(known, pair.Certificate)
			}
			path := tt.of.Certificate.Path(known, tt.by)
			var names []string
			for _, ca := range path {
				names = append(names, ca.CommonName)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("path %q, want %q", got, tt.want)
			}
			err := tt.of.Certificate.CheckPath(path, tt.by)
			if (err != nil) != (tt.err != "") || err != nil && (!strings.Contains(err.Error(), tt.err) || !errors.Is(err, ErrRestricted)) {
				t.Errorf("CheckPath = %v, want %q", err, tt.err)
			}
		})
	}
}

// TestIssuedPath: a leaf carries its path without the root, in whatever order the signer's chain has it, and verifiers
// with the root alone accept it.
func TestIssuedPath(t *testing.T) {
	root := authorityUnder(t, "root", nil, nil)
	upper := authorityUnder(t, "upper", root, nil)
	lower := authorityUnder(t, "lower", upper, nil)
	for name, chain := range map[string][]*Certificate{
		"in order, with the root":       {upper.Certificate, root.Certificate},
		"out of order":                  {root.Certificate, upper.Certificate},
		"beside an unrelated authority": {authorityUnder(t, "x", nil, nil).Certificate, upper.Certificate, root.Certificate},
	} {
		t.Run(name, func(t *testing.T) {
			lower.Chain = chain
			leaf, err := lower.Issue(leafProfile(ECDSAP256), testNow)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(leaf.Chain, []*Certificate{lower.Certificate, upper.Certificate}, (*Certificate).Equal) {
				t.Errorf("the chain has %d certificates", len(leaf.Chain))
			}
			roots, between := x509.NewCertPool(), x509.NewCertPool()
			roots.AppendCertsFromPEM(root.Certificate.PEM())
			between.AppendCertsFromPEM(EncodeCertificates(leaf.Chain...))
			parsed, err := x509.ParseCertificate(leaf.Certificate.DER())
			if err != nil {
				t.Fatal(err)
			}
			options := x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: testNow.Add(time.Second)}
			if _, err := parsed.Verify(options); err != nil {
				t.Error(err)
			}
		})
	}
	lower.Chain = nil
	if leaf, err := lower.Issue(leafProfile(ECDSAP256), testNow); err != nil || len(leaf.Chain) != 1 {
		t.Errorf("without issuers: %v", err)
	}
}
