// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

type part struct {
	// configuration is its name.
	configuration string

	domains   []*trust.Domain
	aggregate *trust.Aggregate
	rollout   *Rollout
	clusters  []*Cluster
	copies    []configv1alpha1.Copy
	// configured are the trust domains as the configuration declares them.
	configured []configv1alpha1.TrustDomain
	claims     map[objectKey]Claim
	// rivals are the candidates for each name of a node's leaf.
	rivals map[string][]candidate
	// nodeLeaves maps node and template to the name of the leaf.
	nodeLeaves map[string]map[string]string
}

// expand builds the domains of a configuration. It claims the literal names of the configuration first, so that a
// node's leaf with an unlucky name cannot take the name of a signer.
func (b *builder) expand(name string, cfg *configv1alpha1.RotationConfigurationSpec) (*part, error) {
	p := b.newPart(name, cfg)
	if err := b.checkExtent(cfg); err != nil {
		return nil, err
	}
	if err := p.claimAggregate(cfg.Aggregate); err != nil {
		return nil, err
	}
	if err := b.trustDomains(p, cfg, cfg.TrustDomains); err != nil {
		return nil, err
	}
	leaves := map[string][]string{}
	for _, domain := range p.domains {
		for _, leaf := range domain.Leaves {
			leaves[leaf.Template] = append(leaves[leaf.Template], leaf.Name)
		}
	}
	if cfg.Aggregate != nil {
		p.aggregate = b.aggregate(p, cfg.Aggregate, leaves)
	}
	if err := b.rollout(p, cfg); err != nil {
		return nil, fmt.Errorf("rollout: %w", err)
	}
	if err := b.clusters(p, cfg); err != nil {
		return nil, err
	}
	if err := b.copies(p, cfg); err != nil {
		return nil, err
	}
	if err := p.checkStatus(); err != nil {
		return nil, err
	}
	return p, nil
}

// trustDomains builds trust domains of a configuration, and adds them to its part.
func (b *builder) trustDomains(p *part, cfg *configv1alpha1.RotationConfigurationSpec, domains []configv1alpha1.TrustDomain) error {
	if err := b.prepare(p, cfg); err != nil {
		return err
	}
	for i := range domains {
		if err := p.claimDomain(&domains[i]); err != nil {
			return err
		}
	}
	for i := range domains {
		domain, err := b.domain(p, &domains[i])
		if err != nil {
			return fmt.Errorf("trust domain %s: %w", domains[i].Name, err)
		}
		p.domains = append(p.domains, domain)
	}
	for _, domain := range p.domains {
		b.remember(domain, p)
	}
	return nil
}

// newPart begins a configuration, with the nodes as the cluster has them.
func (b *builder) newPart(configuration string, cfg *configv1alpha1.RotationConfigurationSpec) *part {
	b.listNodes()
	return &part{configuration: configuration, configured: cfg.TrustDomains, claims: map[objectKey]Claim{}, nodeLeaves: map[string]map[string]string{}}
}

func (b *builder) listNodes() {
	b.nodes = b.nodes[:0:0]
	for _, name := range sortedNames(b.sources.Nodes) {
		b.nodes = append(b.nodes, b.sources.Nodes[name])
	}
}

// prepare settles which addresses nodes have in a configuration, and who is a candidate for the name of a node's leaf.
func (b *builder) prepare(p *part, cfg *configv1alpha1.RotationConfigurationSpec) error {
	if err := b.filterAddresses(p, cfg); err != nil {
		return err
	}
	var err error
	p.rivals, err = b.candidates(cfg)
	return err
}

// claimDomain claims the signer, the bundle, and the leaves that exist once.
func (p *part) claimDomain(domain *configv1alpha1.TrustDomain) error {
	bundle := trust.ConfigMapKind
	if domain.Editions != nil {
		bundle = trust.SecretKind
	}
	claims := []struct {
		kind  trust.ObjectKind
		name  string
		claim ClaimKind
	}{
		{trust.SecretKind, domain.Signer.SecretName, ClaimSigner},
		{bundle, domain.Bundle.ConfigMapName, ClaimBundle},
	}
	for _, c := range claims {
		if !p.claim(c.kind, c.name, Claim{Domain: domain.Name, Kind: c.claim}) {
			return fmt.Errorf("%s is claimed twice", objectName(c.kind, c.name))
		}
	}
	for i := range domain.Leaves {
		leaf := &domain.Leaves[i]
		if leaf.ForEachNode == nil && !p.claim(trust.SecretKind, leaf.SecretName, Claim{Domain: domain.Name, Kind: ClaimLeaf}) {
			return fmt.Errorf("%s is claimed twice", objectName(trust.SecretKind, leaf.SecretName))
		}
	}
	return p.claimIssued(domain)
}

func (p *part) claimAggregate(aggregate *configv1alpha1.Aggregate) error {
	if aggregate == nil {
		return nil
	}
	if !p.claim(trust.SecretKind, aggregate.SecretName, Claim{Kind: ClaimAggregate}) {
		return fmt.Errorf("%s is claimed twice", objectName(trust.SecretKind, aggregate.SecretName))
	}
	if !p.claim(trust.ConfigMapKind, aggregate.ConfigMapName, Claim{Kind: ClaimAggregate}) {
		return fmt.Errorf("%s is claimed twice", objectName(trust.ConfigMapKind, aggregate.ConfigMapName))
	}
	return nil
}

// claim reports whether the name was free.
func (p *part) claim(kind trust.ObjectKind, name string, claim Claim) bool {
	key := objectKey{kind: kind, name: name}
	if _, taken := p.claims[key]; taken {
		return false
	}
	claim.Configuration = p.configuration
	p.claims[key] = claim
	return true
}

// selected returns the nodes that a selector matches, ordered by name.
func (b *builder) selected(selector *metav1.LabelSelector) ([]*Node, error) {
	chosen, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, fmt.Errorf("forEachNode: %w", err)
	}
	var nodes []*Node
	for _, node := range b.nodes {
		if chosen.Matches(labels.Set(node.Labels)) {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}
