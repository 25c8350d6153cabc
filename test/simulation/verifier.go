// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/pki"
)

// verifier verifies with crypto/x509. It also refuses what OpenSSL refuses: a leaf that names the key identifier of
// no anchor that signed it. It caches each result until a certificate of the chain begins or ends.
type verifier struct {
	pools  map[string]*pool
	parsed map[pki.Fingerprint]*x509.Certificate
	known  map[question]answer
	asked  int
}

// pool is a set of anchors. There is one pool for each list of anchors.
type pool struct {
	id      int
	anchors []*pki.Certificate
	roots   *x509.CertPool
}

// ended reports whether all anchors have expired: whatever is signed, it is not accepted.
func (p *pool) ended(now time.Time) bool {
	return !slices.ContainsFunc(p.anchors, func(ca *pki.Certificate) bool { return !ca.Expired(now) })
}

type question struct {
	leaf pki.Fingerprint
	pool int
	use  x509.ExtKeyUsage
}

// answer is valid between two moments.
type answer struct {
	from, to time.Time
	err      error
}

func newVerifier() *verifier {
	return &verifier{pools: map[string]*pool{}, parsed: map[pki.Fingerprint]*x509.Certificate{}, known: map[question]answer{}}
}

func (v *verifier) pool(anchors []*pki.Certificate) *pool {
	var key strings.Builder
	for _, ca := range anchors {
		key.WriteString(string(ca.Fingerprint))
	}
	p := v.pools[key.String()]
	if p == nil {
		p = &pool{id: len(v.pools), anchors: anchors, roots: x509.NewCertPool()}
		for _, ca := range anchors {
			if c := v.parse(ca); c != nil {
				p.roots.AddCert(c)
			}
		}
		v.pools[key.String()] = p
	}
	return p
}

func (v *verifier) parse(c *pki.Certificate) *x509.Certificate {
	parsed := v.parsed[c.Fingerprint]
	if parsed == nil {
		// The certificate was parsed before it was stored.
		parsed, _ = x509.ParseCertificate(c.DER())
		v.parsed[c.Fingerprint] = parsed
	}
	return parsed
}

// verify returns why a process with these anchors refuses a leaf at a moment, nil if it accepts the leaf.
func (v *verifier) verify(leaf *pki.Certificate, p *pool, use x509.ExtKeyUsage, now time.Time) error {
	q := question{leaf: leaf.Fingerprint, pool: p.id, use: use}
	if a, ok := v.known[q]; ok && !now.Before(a.from) && !now.After(a.to) {
		return a.err
	}
	v.asked++
	a := answer{from: now, to: now}
	_, a.err = v.parse(leaf).Verify(x509.VerifyOptions{Roots: p.roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use}})
	if a.err == nil {
		a = p.accepts(leaf, now)
	}
	v.known[q] = a
	return a.err
}

// accepts returns whether an anchor that signed the leaf has the identifier that it names, and until when.
func (p *pool) accepts(leaf *pki.Certificate, now time.Time) answer {
	for _, ca := range p.anchors {
		if !leaf.Identifies(ca, 0) || !ca.ValidAt(now) || !leaf.SignedBy(ca) {
			continue
		}
		a := answer{from: leaf.NotBefore, to: leaf.NotAfter}
		if ca.NotBefore.After(a.from) {
			a.from = ca.NotBefore
		}
		if ca.NotAfter.Before(a.to) {
			a.to = ca.NotAfter
		}
		return a
	}
	return answer{from: now, to: now, err: fmt.Errorf("no anchor of %s has the key identifier %s", leaf.Issuer, leaf.AuthorityKeyID)}
}
