// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"certrotation.dev/apis/certrotation"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// certificateFacts are the public facts of a certificate; signer is the CA that is known to have signed it, or nil.
func certificateFacts(c, signer *pki.Certificate) certrotation.Certificate {
	out := certrotation.Certificate{
		Fingerprint:  string(c.Fingerprint),
		Subject:      c.Subject,
		Issuer:       c.Issuer,
		SerialNumber: c.SerialNumber,
		KeyAlgorithm: string(c.KeyAlgorithm),
		NotBefore:    toTime(c.NotBefore),
		NotAfter:     toTime(c.NotAfter),
	}
	if signer != nil {
		out.SignedBy = string(signer.Fingerprint)
	}
	return out
}

// authorityFacts are the facts of a CA, which signs itself or was signed by something that is not of this domain.
func authorityFacts(c *pki.Certificate) certrotation.Certificate {
	if c.SignedBy(c) {
		return certificateFacts(c, c)
	}
	return certificateFacts(c, nil)
}

func optionalAuthorityFacts(c *pki.Certificate) *certrotation.Certificate {
	if c == nil {
		return nil
	}
	facts := authorityFacts(c)
	return &facts
}

// Blockers converts what the model says into the form of the API.
func Blockers(in []trust.Blocker) []certrotation.Blocker {
	var out []certrotation.Blocker
	for _, b := range in {
		out = append(out, certrotation.Blocker{
			Party:   b.Party,
			Member:  b.Member,
			Object:  b.Object,
			Reason:  string(b.Reason),
			Message: b.Message,
		})
	}
	return out
}
