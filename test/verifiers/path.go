// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package verifiers

import (
	"crypto/x509"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// paths are the certificates of a PKI as registry/pki reads them.
type paths struct {
	leaf *pki.Certificate
	// presented and file are those with which a path goes on. It ends with one of the file.
	presented, file []*pki.Certificate
}

func newPaths(p *PKI) (*paths, error) {
	out := &paths{}
	var err error
	if out.leaf, err = pki.ParseCertificate(p.Leaf.Raw); err != nil {
		return nil, err
	}
	if out.presented, err = parsed(p.Presented); err != nil {
		return nil, err
	}
	out.file, err = parsed(p.File)
	return out, err
}

func parsed(certs []*x509.Certificate) ([]*pki.Certificate, error) {
	var out []*pki.Certificate
	for _, cert := range certs {
		c, err := pki.ParseCertificate(cert.Raw)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// promised reports whether each of the verifiers accepts the leaf: some path, or every way that a program may choose, leads
// to an anchor of the file that has signed itself, all certificates are valid, and each is accepted by its issuer.
func (p *paths) promised(by pki.Verifiers, at time.Time) bool {
	const tryAll = pki.Go | pki.NSS
	if by != 0 && by&^tryAll == 0 {
		signedItself := func(c *pki.Certificate) bool { return c.SignedBy(c) }
		return p.leads(p.leaf, map[pki.Fingerprint]bool{}, signedItself, func(c, ca *pki.Certificate) bool { return accepts(c, ca, by, at) })
	}
	return p.allLead(p.leaf, by, at, len(p.file)+len(p.presented)) == leads
}

func accepts(c, ca *pki.Certificate, by pki.Verifiers, at time.Time) bool {
	return c.ValidAt(at) && ca.ValidAt(at) && c.AcceptedBy(ca, by)
}

// ways is where the ways on from a certificate lead: nowhere, all to an anchor, or one of them astray.
type ways int

const (
	nowhere ways = iota
	leads
	astray
)

// allLead follows all ways on from a certificate. OpenSSL, BoringSSL, GnuTLS and Java choose an issuer by its name and key
// identifier, and try no other: an anchor of the same name without identifier, an expired certificate of the same key, or
// an intermediate that leads elsewhere stands in the way of another one. What is presented and leads nowhere is left out.
func (p *paths) allLead(c *pki.Certificate, by pki.Verifiers, at time.Time, most int) ways {
	out := nowhere
	for i, ca := range slices.Concat(p.file, p.presented) {
		inFile := i < len(p.file)
		if !p.mayChoose(c, ca) || !inFile && slices.ContainsFunc(p.file, ca.Equal) {
			continue
		}
		step := leads
		switch {
		case !accepts(c, ca, by, at) || most == 0:
			step = astray
		case !inFile || !ca.SignedBy(ca):
			if step = p.allLead(ca, by, at, most-1); step == nowhere && inFile {
				step = astray
			}
		}
		out = max(out, step)
	}
	return out
}

// mayChoose reports whether a program may choose an authority as the issuer of a certificate, GnuTLS even one that may sign
// revocation lists only. Java chooses an anchor with
// the name and key of what is presented, whatever its identifier.
func (p *paths) mayChoose(c, ca *pki.Certificate) bool {
	stands := func(other *pki.Certificate) bool {
		return other.Subject == ca.Subject && other.PublicKeyHash == ca.PublicKeyHash
	}
	return ca.Subject == c.Issuer && !ca.Equal(c) && (c.Identifies(ca, pki.GnuTLS) || slices.ContainsFunc(p.presented, stands))
}

// known reports whether some verifier may accept the leaf: some path leads to an anchor of the file.
func (p *paths) known() bool {
	return p.leads(p.leaf, map[pki.Fingerprint]bool{}, func(*pki.Certificate) bool { return true }, (*pki.Certificate).MayBeAcceptedBy)
}

// leads reports whether a path leads from a certificate to an anchor of the file with which it may end.
func (p *paths) leads(from *pki.Certificate, seen map[pki.Fingerprint]bool, ends func(*pki.Certificate) bool, link func(c, ca *pki.Certificate) bool) bool {
	if seen[from.Fingerprint] {
		return false
	}
	seen[from.Fingerprint] = true
	for _, ca := range p.file {
		if link(from, ca) && (ends(ca) || p.leads(ca, seen, ends, link)) {
			return true
		}
	}
	for _, ca := range p.presented {
		if link(from, ca) && p.leads(ca, seen, ends, link) {
			return true
		}
	}
	return false
}
