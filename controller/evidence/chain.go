// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/x509"
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// presented are the leaf alone, as what follows it is no leaf, and when it ends if it was recovered.
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

// recoveredUntil is when a leaf ends that is valid though every anchor whose key has signed it has expired, zero for others.
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

// kin is by what a server is recognised as one of the trust domain. Of any other nothing is recorded, not even that it
// exists: the address may be any in the network, and those who chose it may read the record.
type kin struct {
	authorities []*pki.Certificate
	// leaves are those of the domain and those that the member was seen to present, whatever became of their CAs.
	leaves []pki.Fingerprint
}

// kinOf collects more than the bundle: where bundle or signer were lost, what is presented is all that tells of them.
func kinOf(s *subject) *kin {
	k := &kin{authorities: slices.Concat(s.d.Bundle.Anchors, []*pki.Certificate{s.d.Signer.Active, s.d.Signer.Next}, s.d.Signer.Previous)}
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

// includes says whether a chain, whose first key the server has proven to hold, belongs to the domain. Whether anybody would
// accept it is another question: an expired leaf belongs to it too.
func (k *kin) includes(chain []*x509.Certificate) bool {
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

// maxChain bounds what is verified for a server that may be anybody.
const maxChain = 5
