// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/address"
	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
)

// filterAddresses removes from the nodes of a configuration the addresses that are not accepted as theirs: the status that a
// kubelet writes is a mere claim. Every node of the cluster can contest an address, even one that the configuration
// does not select.
func (b *builder) filterAddresses(p *part, cfg *configv1alpha1.RotationConfigurationSpec) error {
	ranges, err := rangesOf(cfg)
	if err != nil {
		return err
	}
	claims := map[string][]address.Claimant{}
	for i, node := range b.nodes {
		b.nodes[i] = b.filterNode(p, node, cfg, ranges, claims)
	}
	return nil
}

func rangesOf(cfg *configv1alpha1.RotationConfigurationSpec) (*address.Ranges, error) {
	out := &address.Ranges{}
	for _, r := range []struct {
		path  string
		texts []string
		into  *[]netip.Prefix
	}{{"nodeCIDRs", cfg.NodeCIDRs, &out.Nodes}, {"serviceCIDRs", cfg.ServiceCIDRs, &out.Services}} {
		var err error
		if *r.into, err = address.ParseRanges(r.texts); err != nil {
			return nil, fmt.Errorf("%s: %w", r.path, err)
		}
	}
	return out, nil
}

// filterNode returns the node without the addresses that are not accepted, or the node itself if all are.
func (b *builder) filterNode(p *part, node *Node, cfg *configv1alpha1.RotationConfigurationSpec, ranges *address.Ranges,
	claims map[string][]address.Claimant,
) *Node {
	var doubts []address.Doubt
	for _, text := range node.Addresses {
		if doubt := ranges.Judge(text, node.Name, b.claimants(p, cfg, text, claims)); doubt != nil {
			doubts = append(doubts, *doubt)
		}
	}
	if doubts == nil {
		return node
	}
	out := *node
	out.doubts = doubts
	out.Addresses = slices.DeleteFunc(slices.Clone(node.Addresses), func(text string) bool {
		return slices.ContainsFunc(doubts, func(d address.Doubt) bool { return d.Address == text })
	})
	return &out
}

// claimants returns the nodes that report an address, nil if only one does. claims caches them: otherwise an address
// that many nodes report would cost a comparison of each node with each.
func (b *builder) claimants(p *part, cfg *configv1alpha1.RotationConfigurationSpec, text string, claims map[string][]address.Claimant) []address.Claimant {
	if known, ok := claims[text]; ok {
		return known
	}
	var out []address.Claimant
	if nodes := b.reporting(text); len(nodes) > 1 {
		for _, node := range nodes {
			out = append(out, address.Claimant{Node: node.Name, Holds: b.carries(p, cfg, node, text)})
		}
	}
	claims[text] = out
	return out
}

// reporting returns the nodes of the cluster whose kubelets report an address, ordered by name.
func (b *builder) reporting(text string) []*Node {
	if b.reported == nil {
		b.reported = map[string][]*Node{}
		for _, name := range sortedNames(b.sources.Nodes) {
			node := b.sources.Nodes[name]
			for _, text := range node.Addresses {
				b.reported[text] = append(b.reported[text], node)
			}
		}
	}
	return b.reported[text]
}

// carries reports whether an existing leaf of a node carries an address.
func (b *builder) carries(p *part, cfg *configv1alpha1.RotationConfigurationSpec, node *Node, text string) bool {
	for i := range cfg.TrustDomains {
		for j := range cfg.TrustDomains[i].Leaves {
			leaf := &cfg.TrustDomains[i].Leaves[j]
			if leaf.ForEachNode == nil || !leaf.NodeAddresses {
				continue
			}
			if _, secret := b.tlsSecret(p, nameFor(leaf.SecretName, node)); secret != nil {
				if cert := first(secret.Active.Certificates); cert != nil && slices.Contains(cert.IPAddresses, text) {
					return true
				}
			}
		}
	}
	return false
}

// contested reports whether other nodes also report an address that the leaf of a node carries. The owner cannot be
// determined then, so the leaf keeps its names.
func (n *Node) contested(carried []string) bool {
	return n != nil && slices.ContainsFunc(n.doubts, func(d address.Doubt) bool { return d.Contested && slices.Contains(carried, d.Address) })
}

// doubts returns a problem per node and reason, for the nodes whose addresses a domain needs. Each affects only the
// leaves and members of its node.
func (b *builder) doubts(domain *configv1alpha1.TrustDomain) ([]trust.Problem, error) {
	var nodes []*Node
	for i := range domain.Leaves {
		if leaf := &domain.Leaves[i]; leaf.ForEachNode != nil && leaf.NodeAddresses {
			selected, err := b.selected(leaf.ForEachNode)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, selected...)
		}
	}
	for i := range domain.RelyingParties {
		if party := &domain.RelyingParties[i]; party.ForEachNode != nil && party.Evidence.TLSProbe != nil {
			selected, err := b.selected(party.ForEachNode)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, selected...)
		}
	}
	var out []trust.Problem
	seen := map[string]bool{}
	for _, node := range nodes {
		if !seen[node.Name] {
			seen[node.Name] = true
			out = append(out, node.doubtful()...)
		}
	}
	return out, nil
}

func (n *Node) doubtful() []trust.Problem {
	var unowned, contested []string
	for _, d := range n.doubts {
		text := fmt.Sprintf("its kubelet reports the InternalIP %s, but %s", d.Address, d.Message)
		if d.Contested {
			contested = append(contested, text)
		} else {
			unowned = append(unowned, text)
		}
	}
	var out []trust.Problem
	if len(unowned) > 0 {
		out = append(out, trust.Problem{
			Object: "Node/" + n.Name, Reason: trust.ReasonAddressNotBelieved,
			Message: strings.Join(unowned, "; ") + ". No certificate gets it, and no probe goes there; correct status.addresses of the node, or the ranges",
		})
	}
	if len(contested) > 0 {
		out = append(out, trust.Problem{
			Object: "Node/" + n.Name, Reason: trust.ReasonAddressCollision,
			Message: strings.Join(contested, "; ") + ". No certificate gets it anew; find out whose it is, and delete or correct the other Node",
		})
	}
	return out
}

// unaddressed maps the names of the nodes without an address to the consequences.
type unaddressed map[string]*consequences

type consequences struct {
	leftOut, kept []string
	doubted       bool
}

// add records a leaf of a node. present is true if its Secret exists.
func (u unaddressed) add(node *Node, leaf string, present bool) {
	c := u[node.Name]
	if c == nil {
		c = &consequences{doubted: len(node.doubts) > 0}
		u[node.Name] = c
	}
	if present {
		c.kept = append(c.kept, leaf)
	} else {
		c.leftOut = append(c.leftOut, leaf)
	}
}

func (u unaddressed) problems() []trust.Problem {
	var out []trust.Problem
	for _, name := range sortedNames(u) {
		message := withoutAddress(u[name].doubted)
		if leaves := u[name].leftOut; len(leaves) > 0 {
			message += fmt.Sprintf(", so these leaves are not issued: %s", display.Names(leaves))
		}
		if leaves := u[name].kept; len(leaves) > 0 {
			message += fmt.Sprintf(", so these leaves keep the addresses that they have: %s", display.Names(leaves))
		}
		out = append(out, addressProblem(name, message))
	}
	return out
}

func withoutAddress(doubted bool) string {
	if doubted {
		return "the node has no InternalIP that is filterNode to be its own"
	}
	return errNoAddress.Error()
}

func addressProblem(node, message string) trust.Problem {
	return trust.Problem{
		Object:  "Node/" + node,
		Reason:  trust.ReasonNodeWithoutAddress,
		Message: message + "; have its kubelet or cloud provider report one (status.addresses)",
	}
}
