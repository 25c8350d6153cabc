// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// Rollout is one that a configuration asks for. It is immutable.
type Rollout struct {
	// Configuration is the name of the ConfigMap that asks for it.
	Configuration string
	// Config has every default filled in. It is shared and must not be changed.
	Config *configv1alpha1.StaticPodRollout
	// Aggregate is that of the same configuration, nil if it has none.
	Aggregate *trust.Aggregate
	// Nodes that run the static pod, ordered by name.
	Nodes []*Node
	// Leaves are the names of the leaves of each node that are in the aggregate, ordered, by the name of the node.
	Leaves map[string][]string
}

func (p *part) addNodeLeaf(node, template, name string) {
	if p.nodeLeaves[node] == nil {
		p.nodeLeaves[node] = map[string]string{}
	}
	p.nodeLeaves[node][template] = name
}

// rollout expects that the domains and the aggregate are made.
func (b *builder) rollout(p *part, cfg *configv1alpha1.RotationConfiguration) error {
	if cfg.Rollout == nil || cfg.Rollout.StaticPod == nil {
		return nil
	}
	nodes, err := b.selected(&cfg.Rollout.StaticPod.NodeSelector)
	if err != nil {
		return err
	}
	p.rollout = &Rollout{Config: cfg.Rollout.StaticPod, Aggregate: p.aggregate, Nodes: nodes, Leaves: map[string][]string{}}
	if cfg.Aggregate == nil {
		return nil
	}
	for _, node := range nodes {
		for _, template := range cfg.Aggregate.Leaves {
			if name, ok := p.nodeLeaves[node.Name][template]; ok {
				p.rollout.Leaves[node.Name] = append(p.rollout.Leaves[node.Name], name)
			}
		}
		slices.Sort(p.rollout.Leaves[node.Name])
	}
	return nil
}

// copies claims those that are in this namespace.
func (b *builder) copies(p *part, cfg *configv1alpha1.RotationConfiguration) error {
	for _, c := range cfg.Copies {
		c.ToNamespace, c.ToName = cmp.Or(c.ToNamespace, b.sources.Namespace), cmp.Or(c.ToName, c.Name)
		kind := trust.ObjectKind(c.Kind)
		if c.ToNamespace == b.sources.Namespace && !p.claim(kind, c.ToName, Claim{Kind: ClaimCopy}) {
			return fmt.Errorf("copies: %s is claimed twice", objectName(kind, c.ToName))
		}
		p.copies = append(p.copies, c)
	}
	return nil
}
