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

// members of the relying parties, all of them or those that keep names.
func (r *renderer) members(keep func(trust.Member) bool) []certrotation.MemberStatus {
	wanted := map[[2]string]bool{}
	for _, party := range r.domain.Parties {
		for _, member := range party.Members {
			wanted[[2]string{party.Name, member.Name}] = keep == nil || keep(member)
		}
	}
	var out []certrotation.MemberStatus
	for i := range r.assessment.Members {
		m := &r.assessment.Members[i]
		if !wanted[[2]string{m.Party, m.Member}] {
			continue
		}
		out = append(out, certrotation.MemberStatus{
			Party:      m.Party,
			Member:     m.Member,
			Evidence:   string(m.Kind),
			Trusted:    m.Trusted,
			Delivered:  m.Delivered,
			LastChange: toTimePointer(m.LastChange),
			Message:    m.Message,
		})
	}
	return out
}

// trusted counts the members that have loaded the newest CA.
func (r *renderer) trusted() certrotation.TrustCount {
	count := certrotation.TrustCount{}
	for i := range r.assessment.Members {
		count.Total++
		if r.assessment.Members[i].Trusted {
			count.Trusted++
		}
	}
	return count
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
