// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/x509"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// presented returns the fingerprint of the leaf only, because the rest of the chain is no leaf. The time is its end
// if the leaf was recovered.
func (c *Collector) presented(chain []*x509.Certificate, anchors []*pki.Certificate) ([]pki.Fingerprint, time.Time) {
	if len(chain) == 0 {
		return nil, time.Time{}
	}
	leaf, err := pki.ParseCertificate(chain[0].Raw)
	if err != nil {
		return nil, time.Time{}
	}
	return []pki.Fingerprint{leaf.Fingerprint}, recoveredUntil(leaf, anchors, c.clock.Now())
}

// recoveredUntil returns when a recovered leaf ends: it is valid, but every anchor that signed it has expired. It is
// zero for other leaves.
func recoveredUntil(leaf *pki.Certificate, anchors []*pki.Certificate, now time.Time) time.Time {
	signed := false
	for _, anchor := range anchors {
		if !leaf.SignedBy(anchor) {
			continue
		}
		if !anchor.Expired(now) {
			return time.Time{}
		}
		signed = true
	}
	if !signed || !leaf.ValidAt(now) {
		return time.Time{}
	}
	return leaf.NotAfter
}

// domainMatcher identifies servers of the trust domain. Nothing is recorded of any other server, not even that it exists. Its
// address may be any in the network, and the tenant who chose it may read the record.
type domainMatcher struct {
	authorities []*pki.Certificate
	// leaves are the leaves of the domain, and the ones that the member presented before, even if their CAs are gone.
	leaves []pki.Fingerprint
}

// domainMatcherOf uses more than the bundle: if bundle or signer are lost, only presented leaves identify them.
func domainMatcherOf(s *subject) *domainMatcher {
	k := &domainMatcher{authorities: slices.Concat(s.d.Bundle.Anchors, []*pki.Certificate{s.d.Signer.Active, s.d.Signer.Next}, s.d.Signer.Previous, s.d.Signer.Issuers)}
	for i := range s.d.Leaves {
		if leaf := s.d.Leaves[i].Certificate; leaf != nil {
			k.leaves = append(k.leaves, leaf.Fingerprint)
		}
	}
	for i := range s.member.Observations {
		k.leaves = append(k.leaves, s.member.Observations[i].Presents...)
	}
	return k
}

// includes reports whether a chain, whose first key the server has proven to hold, belongs to the domain. It may
// belong and still be unacceptable, such as an expired leaf.
func (k *domainMatcher) includes(chain []*x509.Certificate) bool {
	for i, link := range chain[:min(len(chain), maxChain)] {
		cert, err := pki.ParseCertificate(link.Raw)
		if err != nil || (i > 0 && chain[i-1].CheckSignatureFrom(link) != nil) {
			return false
		}
		if (i == 0 && slices.Contains(k.leaves, cert.Fingerprint)) || slices.ContainsFunc(k.authorities, cert.SignedBy) {
			return true
		}
	}
	return false
}

// maxChain bounds the verification work for an unknown server.
const maxChain = 5
