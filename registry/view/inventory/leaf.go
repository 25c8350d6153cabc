// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// expandedLeaf is a leaf together with what the relying parties ask for.
type expandedLeaf struct {
	leaf *trust.Leaf
	cfg  *configv1alpha1.Leaf
	// node is "" for a leaf that exists once.
	node string
}

// leaves expands the leaves of a domain, ordered by name. A leaf that cannot be made is left out, with a problem, and
// does not affect the others. If its Secret exists it stays with its present names, since somebody may present it.
func (b *builder) leaves(p *part, domain *configv1alpha1.TrustDomain) ([]expandedLeaf, []trust.Problem, error) {
	var (
		leaves    []expandedLeaf
		problems  []trust.Problem
		addresses = unaddressed{}
	)
	for i := range domain.Leaves {
		cfg := &domain.Leaves[i]
		nodes := []*Node{nil}
		if cfg.ForEachNode != nil {
			var err error
			if nodes, err = b.selected(cfg.ForEachNode); err != nil {
				return nil, nil, fmt.Errorf("leaf %s: %w", cfg.SecretName, err)
			}
		}
		leaves = slices.Grow(leaves, len(nodes))
		for _, node := range nodes {
			name := nameFor(cfg.SecretName, node)
			if node != nil {
				holds := b.holds(p, name, cfg.SecretName, node)
				if problem := p.claimNodeLeaf(domain.Name, name, node, holds); problem != nil {
					problems = append(problems, *problem)
					continue
				}
				p.addNodeLeaf(node.Name, cfg.SecretName, name)
			}
			leaf, fault := b.leaf(p, name, cfg, node)
			switch {
			case fault == nil:
			case node != nil && cfg.NodeAddresses && len(node.Addresses) == 0:
				addresses.add(node, name, leaf.Present)
			default:
				problems = append(problems, *problemOf(trust.SecretKind, name, ReasonInvalidConfiguration,
					fmt.Sprintf("it cannot be issued: %v; change the leaf %s in the configuration", fault, cfg.SecretName)))
			}
			if fault == nil || leaf.Present {
				leaves = append(leaves, expandedLeaf{leaf: leaf, cfg: cfg, node: nodeName(node)})
			}
		}
	}
	slices.SortFunc(leaves, func(x, y expandedLeaf) int { return cmp.Compare(x.leaf.Name, y.leaf.Name) })
	return leaves, append(problems, addresses.problems()...), nil
}

// claimNodeLeaf claims the name of a node's leaf. It fails if the name is not valid or is taken within the
// configuration. Only that leaf is affected: a node that joins must not stop what works.
func (p *part) claimNodeLeaf(domain, name string, node *Node, holds bool) *trust.Problem {
	if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
		return problemOf(trust.SecretKind, name, ReasonInvalidConfiguration, fmt.Sprintf(
			"the leaf of node %s cannot be named so: %s", node.Name, strings.Join(errs, ", ")))
	}
	if !holds || !p.claim(trust.SecretKind, name, Claim{Domain: domain, Kind: ClaimLeaf}) {
		return problemOf(trust.SecretKind, name, ReasonConflictingClaim, fmt.Sprintf(
			"the leaf of node %s would have the name of another object of the configuration; use a secretName that cannot meet it",
			node.Name))
	}
	return nil
}

// leaf reads one leaf. The error says why its profile cannot be made.
func (b *builder) leaf(p *part, name string, cfg *configv1alpha1.Leaf, node *Node) (*trust.Leaf, error) {
	object, secret := b.tlsSecret(p, name)
	out := &trust.Leaf{Object: object, Template: cfg.SecretName, Policy: policyOf(&cfg.Policy)}
	if secret != nil {
		readLeaf(out, secret)
	}
	if cfg.NodeAddresses && out.Certificate != nil && node.contested(out.Certificate.IPAddresses) {
		out.Policy.Profile = keptProfile(cfg, out.Certificate)
		return out, nil
	}
	profile, err := profileFor(cfg, node)
	if err != nil {
		out.Policy.Profile = keptProfile(cfg, out.Certificate)
		return out, err
	}
	out.Policy.Profile = profile
	return out, nil
}

// readLeaf takes over the content of an existing Secret.
func readLeaf(out *trust.Leaf, secret *Secret) {
	const step = "restore it, or delete the Secret to have it reissued"
	out.Certificate = first(secret.Active.Certificates)
	for _, cert := range distinct(slices.Concat(secret.Active.Certificates, secret.Authorities)) {
		if cert.IsCA && !cert.Equal(out.Certificate) {
			out.Authorities = append(out.Authorities, cert)
		}
	}
	fault := cmp.Or(secret.Active.Fault, secret.AuthoritiesFault)
	switch {
	case fault != nil:
		out.Problem = problemOf(trust.SecretKind, secret.Name, fault.Reason, fault.Text+"; "+step)
	case secret.Active.Empty():
		out.Problem = problemOf(trust.SecretKind, secret.Name, trust.ReasonUnparsable,
			fmt.Sprintf("%s and %s are empty; %s", ActiveCertKey, ActiveKeyKey, step))
	}
}

// nameFor puts the name of a node into a template; there may be no node.
func nameFor(template string, node *Node) string {
	if node == nil {
		return template
	}
	return strings.ReplaceAll(template, configv1alpha1.NodePlaceholder, node.Name)
}

func nodeName(node *Node) string {
	if node == nil {
		return ""
	}
	return node.Name
}
