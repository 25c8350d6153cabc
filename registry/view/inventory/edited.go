// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// Sources returns the facts that the namespace was built from.
func (n *Namespace) Sources() *Sources { return n.sources }

// Has reports whether the facts of an object are those of this version; nil is an object that does not exist.
func (s *Sources) Has(kind trust.ObjectKind, name string, version *metav1.ObjectMeta) bool {
	var known *metav1.ObjectMeta
	switch kind {
	case trust.SecretKind:
		if secret := s.Secrets[name]; secret != nil {
			known = &secret.ObjectMeta
		} else if other := s.Others[name]; other != nil {
			known = &other.ObjectMeta
		}
	case trust.ConfigMapKind:
		if cm := s.ConfigMaps[name]; cm != nil {
			known = &cm.ObjectMeta
		}
	case ConfigurationKind:
		if cfg := s.Configurations[name]; cfg != nil {
			known = &cfg.ObjectMeta
		}
	default:
		return false
	}
	if known == nil || version == nil {
		return known == nil && version == nil
	}
	return known.UID == version.UID && known.ResourceVersion == version.ResourceVersion && version.ResourceVersion != ""
}

// Edited is Build of s, which differs from the namespace's own sources only in one object that the namespace claims. If
// the claim is of a trust domain, it builds only that domain, and the result has nothing else.
func (n *Namespace) Edited(s *Sources, claim Claim) *Namespace {
	cfg := s.Configurations[claim.Configuration]
	if claim.Domain == "" || cfg == nil || cfg.Loaded == nil {
		return Build(s)
	}
	b := &builder{sources: s, records: n.records, claims: maps.Clone(n.claims)}
	maps.DeleteFunc(b.claims, func(key objectKey, _ Claim) bool { return n.unnamed[key] })
	domain, err := b.oneDomain(claim, cfg.Loaded)
	if err != nil {
		return Build(s)
	}
	return &Namespace{Name: n.Name, Domains: []*trust.Domain{domain}}
}

// oneDomain builds the domain of a claim. The rest of its configuration is as it was.
func (b *builder) oneDomain(claim Claim, cfg *configv1alpha1.RotationConfigurationSpec) (*trust.Domain, error) {
	at := slices.IndexFunc(cfg.TrustDomains, func(d configv1alpha1.TrustDomain) bool { return d.Name == claim.Domain })
	p := newPart(claim.Configuration, cfg)
	for key, other := range b.claims {
		if other.Configuration == claim.Configuration && other.Domain != claim.Domain && other.Kind != ClaimCopy {
			p.claims[key] = other
		}
	}
	b.listNodes()
	if err := b.prepare(p, cfg); err != nil {
		return nil, err
	}
	if err := p.claimDomain(&cfg.TrustDomains[at]); err != nil {
		return nil, err
	}
	domain, err := b.domain(p, &cfg.TrustDomains[at])
	if err != nil {
		return nil, err
	}
	b.remember(domain, p)
	b.addUnnamed([]*trust.Domain{domain})
	return domain, nil
}
