// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	"certrotation.dev/registry/pki"
)

// issuersIn returns the CAs that a signer Secret holds above those of its slots: behind the CA in a slot, and in ca.crt,
// as cert-manager and kubeadm write the root.
func issuersIn(secret *Secret) []*pki.Certificate {
	var out []*pki.Certificate
	for _, pair := range []*Pair{&secret.Active, &secret.Next} {
		out = append(out, pair.Certificates[min(1, len(pair.Certificates)):]...)
	}
	out = append(out, secret.Authorities.Certificates...)
	return slices.DeleteFunc(pki.Distinct(out), func(cert *pki.Certificate) bool { return !cert.IsCA })
}

// certificatesUnder returns the certificates under keys of a Secret. What cannot be read holds none.
func certificatesUnder(data map[string][]byte, keys ...string) []*pki.Certificate {
	var out []*pki.Certificate
	for _, key := range keys {
		if anchors, err := pki.ParseAnchors(data[key]); err == nil {
			out = append(out, anchors.Certificates...)
		}
	}
	return out
}

// HeldIssuers returns the certificates of a signer Secret among which the path of a CA is.
func HeldIssuers(data map[string][]byte) []*pki.Certificate {
	return certificatesUnder(data, ActiveCertKey, NextCertKey, AuthorityKey)
}

// KeepIssuers updates ca.crt of a signer Secret after pairs have left a slot. It adds the issuers that only those pairs
// had and a CA in the Secret still needs, and drops those that only they needed.
func KeepIssuers(data map[string][]byte, left ...*pki.Pair) {
	former := certificatesUnder(data, AuthorityKey)
	inSlots := certificatesUnder(data, ActiveCertKey, NextCertKey)
	known := slices.Concat(inSlots, former)
	for _, pair := range left {
		known = append(known, pair.Chain...)
	}
	var needed, unneeded []*pki.Certificate
	for _, cert := range slices.Concat(inSlots, certificatesUnder(data, PreviousCertKey)) {
		needed = append(needed, cert.Path(known, 0)...)
	}
	for _, pair := range left {
		unneeded = append(unneeded, pair.Certificate.Path(known, 0)...)
	}
	kept := slices.DeleteFunc(slices.Clone(former), func(cert *pki.Certificate) bool {
		return slices.ContainsFunc(unneeded, cert.Equal) && !slices.ContainsFunc(needed, cert.Equal)
	})
	for _, cert := range pki.Distinct(needed) {
		if !slices.ContainsFunc(inSlots, cert.Equal) && !slices.ContainsFunc(kept, cert.Equal) {
			kept = append(kept, cert)
		}
	}
	switch {
	case slices.EqualFunc(kept, former, (*pki.Certificate).Equal):
	case len(kept) == 0:
		delete(data, AuthorityKey)
	default:
		data[AuthorityKey] = pki.EncodeAnchors(data[AuthorityKey], kept...)
	}
}
