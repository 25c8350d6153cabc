// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// domain builds one trust domain from its configuration and the existing objects.
func (b *builder) domain(p *part, cfg *configv1alpha1.TrustDomain) (*trust.Domain, error) {
	out := &trust.Domain{
		Namespace:     b.sources.Namespace,
		Name:          cfg.Name,
		Configuration: p.configuration,
		StageDeadline: durationOf(cfg.StageDeadline),

		Verifiers:        verifiersOf(cfg.Verifiers),
		ReissuePerMinute: int(cfg.ReissuePerMinute),
		Released:         cfg.ReleasedLeaves,
		ReleasedMembers:  cfg.ReleasedMembers,
	}
	if cfg.Editions != nil {
		b.domainOfEditions(p, cfg, out)
	} else {
		out.Signer, out.Bundle = b.signer(p, &cfg.Signer), b.bundle(p, &cfg.Bundle)
		out.Issuer = issuers[cfg.Issuer]
	}
	if unlisted := cfg.UnlistedLeaves; unlisted != nil {
		out.Unlisted = &trust.Unlisted{Drain: unlisted.Drain.Duration}
	}
	leaves, problems, err := b.leaves(p, cfg)
	if err != nil {
		return nil, err
	}
	out.Leaves = make([]trust.Leaf, 0, len(leaves))
	for _, l := range leaves {
		out.Leaves = append(out.Leaves, *l.leaf)
	}
	if cfg.Editions != nil {
		settleSlots(out)
	}
	problems = append(out.Problems, problems...)
	index := newLeafIndex(leaves)
	for i := range cfg.RelyingParties {
		party, partyProblems, err := b.party(out, &cfg.RelyingParties[i], index)
		if err != nil {
			return nil, fmt.Errorf("relying party %s: %w", cfg.RelyingParties[i].Name, err)
		}
		out.Parties = append(out.Parties, party)
		problems = append(problems, partyProblems...)
	}
	doubts, err := b.doubts(cfg)
	if err != nil {
		return nil, err
	}
	problems = append(problems, doubts...)
	passRestarts(out.Parties)
	slices.SortStableFunc(problems, func(x, y trust.Problem) int { return cmp.Compare(x.Object, y.Object) })
	out.Problems = problems
	return out, nil
}

// policyOf returns the policy without the names of the certificate.
func policyOf(cfg *configv1alpha1.IssuancePolicy) trust.Policy {
	return trust.Policy{
		Profile: pki.Profile{
			Key:      pki.KeyAlgorithm(cfg.Key),
			Validity: durationOf(cfg.Validity),
			Backdate: durationOf(cfg.Backdate),
		},
		RenewAtPercent: cfg.RenewAtPercent,
		RenewBefore:    durationOf(cfg.RenewBefore),
		JitterPercent:  ptr.Deref(cfg.JitterPercent, 0),
	}
}

func durationOf(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

// verifiersOf returns a set of verifiers, zero for all.
func verifiersOf(names []configv1alpha1.Verifier) pki.Verifiers {
	known := map[configv1alpha1.Verifier]pki.Verifiers{
		configv1alpha1.VerifierGo: pki.Go, configv1alpha1.VerifierOpenSSL: pki.OpenSSL, configv1alpha1.VerifierBoringSSL: pki.BoringSSL,
		configv1alpha1.VerifierGnuTLS: pki.GnuTLS, configv1alpha1.VerifierNSS: pki.NSS, configv1alpha1.VerifierJava: pki.Java,
	}
	var out pki.Verifiers
	for _, name := range names {
		out |= known[name]
	}
	return out
}
