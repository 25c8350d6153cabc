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
	maps.DeleteFunc(b.claims, func(key objectKey, c Claim) bool { return n.unnamed[key] || c.Edition && c.Domain == claim.Domain })
	p := b.newPart(claim.Configuration, cfg.Loaded)
	for key, other := range b.claims {
		if other.Configuration == claim.Configuration && other.Domain != claim.Domain && other.Kind != ClaimCopy {
			p.claims[key] = other
		}
	}
	edited := slices.DeleteFunc(slices.Clone(cfg.Loaded.TrustDomains), func(d configv1alpha1.TrustDomain) bool { return d.Name != claim.Domain })
	if err := b.trustDomains(p, cfg.Loaded, edited); err != nil {
		return Build(s)
	}
	b.addUnnamed(p.domains)
	return &Namespace{Name: n.Name, Domains: p.domains}
}
