// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"slices"
	"time"

	"certrotation.dev/registry/pki"
)

// chainOf are the CAs that a leaf chains to: whoever signed it, whoever signed those, and so on, by the CAs of the slots,
// the bundle and the leaf's own Secret. A root is needed by the leaves of its intermediates as by its own.
func (a *assessor) chainOf(l *Leaf) []*pki.Certificate {
	known := slices.Concat(a.authorities, l.Authorities)
	var chain []*pki.Certificate
	open := []*pki.Certificate{l.Certificate}
	for len(open) > 0 {
		child := open[0]
		open = open[1:]
		for _, ca := range known {
			if same(ca, child) || slices.ContainsFunc(chain, ca.Equal) || !child.SignedBy(ca) {
				continue
			}
			chain = append(chain, ca)
			open = append(open, ca)
		}
	}
	return chain
}

// generation says whether a CA is one that this domain made, under the present name of its signer or a former one.
func (a *assessor) generation(ca *pki.Certificate) bool {
	names := []string{a.d.Signer.Name}
	if a.d.Roster != nil {
		names = append(names, a.d.Roster.Signers...)
	}
	return slices.ContainsFunc(names, func(name string) bool { return pki.IsGenerationOf(ca.CommonName, a.d.Namespace, name) })
}

// twins are the other anchors with the name and the key of a CA, which have not expired: they accept what it signs, until
// they end.
func (a *assessor) twins(ca *pki.Certificate) []*pki.Certificate {
	var out []*pki.Certificate
	for _, other := range a.d.Bundle.Anchors {
		if !same(ca, other) && interchangeable(ca, other) && !other.Expired(a.now) {
			out = append(out, other)
		}
	}
	return out
}

// interchangeable says whether verifiers cannot tell two CAs apart by what they sign.
func interchangeable(a, b *pki.Certificate) bool {
	return a != nil && b != nil && a.SubjectHash == b.SubjectHash && a.PublicKeyHash == b.PublicKeyHash
}

// acceptedUntil is until when a leaf of ca is accepted by all who verify it: to the end of ca where they have loaded it,
// and to the end of the first of its twins where that is not proven of everybody. A CA that was renewed with its key and
// name is another anchor, and has to be loaded before leaves may outlive the former one.
func (a *assessor) acceptedUntil(ca *pki.Certificate, leaf string) time.Time {
	until := ca.NotAfter
	twins := a.twins(ca)
	if len(twins) == 0 || len(a.waitsForTrust(a.verifiers[leaf], ca)) == 0 {
		return until
	}
	for _, twin := range twins {
		if twin.NotAfter.Before(until) {
			until = twin.NotAfter
		}
	}
	return until
}

// replaceable says whether everybody who verifies a leaf has loaded another anchor that accepts it in place of ca.
func (a *assessor) replaceable(ca *pki.Certificate, leaf string) bool {
	l := a.leaves[leaf]
	return slices.ContainsFunc(a.twins(ca), func(twin *pki.Certificate) bool {
		return !l.Certificate.NotAfter.After(twin.NotAfter) &&
			(ca.Expired(a.now) || len(a.waitsForTrust(a.verifiers[leaf], twin)) == 0)
	})
}
