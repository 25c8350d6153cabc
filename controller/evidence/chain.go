// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/x509"
	"time"

	"certrotation.dev/controller/evidence/connection"
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

// verify says why a client with these anchors would refuse the chain, "" if it would not.
func (c *Collector) verify(chain []*x509.Certificate, anchors []*pki.Certificate, name string) string {
	if len(chain) == 0 {
		return "it presents no certificate"
	}
	roots, intermediates := x509.NewCertPool(), x509.NewCertPool()
	for _, anchor := range anchors {
		if parsed, err := x509.ParseCertificate(anchor.DER()); err == nil {
			roots.AddCert(parsed)
		}
	}
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		DNSName: name, Roots: roots, Intermediates: intermediates, CurrentTime: c.clock.Now(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return connection.Verification(err)
}
