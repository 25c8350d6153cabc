// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// issuers are the names of the issuers for people.
var issuers = map[configv1alpha1.Issuer]string{configv1alpha1.IssuerCertManager: "cert-manager"}

// claimIssued claims the Secrets in which the issuer of a domain delivers.
func (p *part) claimIssued(domain *configv1alpha1.TrustDomain) error {
	names := []string{domain.Signer.IssuedSecretName}
	for i := range domain.Leaves {
		names = append(names, domain.Leaves[i].IssuedSecretName)
	}
	for _, name := range names {
		if name != "" && !p.claim(trust.SecretKind, name, Claim{Domain: domain.Name, Kind: ClaimIssued}) {
			return fmt.Errorf("%s is claimed twice", objectName(trust.SecretKind, name))
		}
	}
	return nil
}

// issued reads a Secret in which an issuer delivers, nil without a name. Its content counts for nothing if its key does
// not match, as while it is half written.
func (b *builder) issued(p *part, name string) *trust.Issued {
	if name == "" {
		return nil
	}
	object, secret := b.tlsSecret(p, name)
	out := &trust.Issued{Object: object}
	if secret == nil {
		return out
	}
	switch fault := secret.Active.Fault; {
	case fault != nil:
		out.Problem = problemOf(trust.SecretKind, name, fault.Reason, fault.Text+"; have its issuer issue it anew")
	default:
		out.Certificate = first(secret.Active.Certificates)
	}
	return out
}
