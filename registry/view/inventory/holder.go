// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// candidate is a leaf of a node that would have a certain name.
type candidate struct {
	template string
	node     *Node
}

// candidates returns who could have the name of each node's leaf. Two templates can make the same name: with
// peer-{node} and peer-metrics-{node}, a node metrics-x meets a node x.
func (b *builder) candidates(cfg *configv1alpha1.RotationConfigurationSpec) (map[string][]candidate, error) {
	found := map[string][]candidate{}
	for i := range cfg.TrustDomains {
		for j := range cfg.TrustDomains[i].Leaves {
			leaf := &cfg.TrustDomains[i].Leaves[j]
			if leaf.ForEachNode == nil {
				continue
			}
			nodes, err := b.selected(leaf.ForEachNode)
			if err != nil {
				return nil, err
			}
			for _, node := range nodes {
				name := nameFor(leaf.SecretName, node)
				found[name] = append(found[name], candidate{template: leaf.SecretName, node: node})
			}
		}
	}
	return found, nil
}

// holds reports whether a node's leaf may have a name that others would have too: the one whose addresses the existing
// certificate is for keeps it, and a name that does not exist yet goes to the first. A node that joins must not take
// over what another one presents.
func (b *builder) holds(p *part, name, template string, node *Node) bool {
	rivals := p.rivals[name]
	if len(rivals) < 2 {
		return true
	}
	_, secret := b.tlsSecret(p, name)
	if secret == nil {
		return rivals[0].template == template && rivals[0].node == node
	}
	certificate := first(secret.Active.Certificates)
	if certificate == nil {
		return false
	}
	return slices.ContainsFunc(node.Addresses, func(address string) bool {
		return slices.Contains(certificate.IPAddresses, address)
	})
}
