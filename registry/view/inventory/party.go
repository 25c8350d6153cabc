// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"net"
	"strings"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// party makes a relying party with its members. The problems are nodes that cannot be probed.
func (b *builder) party(
	domain string, cfg *configv1alpha1.RelyingParty, leaves *leafIndex,
) (trust.Party, []trust.Problem, error) {
	out := trust.Party{
		Name:     cfg.Name,
		Kind:     trust.EvidenceKind(cfg.Evidence.Kind),
		Grace:    durationOf(cfg.Evidence.GracePeriod),
		Verifies: leaves.selected(&cfg.Verifies),
	}
	nodes, names, err := b.members(cfg)
	if err != nil {
		return trust.Party{}, nil, err
	}
	var problems []trust.Problem
	out.Members = make([]trust.Member, 0, len(names))
	for i, name := range names {
		member := trust.Member{
			Name:        name,
			Holds:       leaves.heldBy(cfg.Presents, name),
			Observation: b.records[memberKey{domain: domain, party: cfg.Name, member: name}],
		}
		if out.Kind == trust.TLSProbe && cfg.Evidence.TLSProbe != nil {
			var node *Node
			if nodes != nil {
				node = nodes[i]
			}
			member.Probe = probeFor(cfg.Evidence.TLSProbe, i, node)
			if node != nil && len(node.Addresses) == 0 {
				problems = append(problems, addressProblem(name, "the node has no InternalIP, so it cannot be probed"))
			}
		}
		out.Members = append(out.Members, member)
	}
	return out, problems, nil
}

// members returns the names of the members, and their nodes if there is one member for each node.
func (b *builder) members(cfg *configv1alpha1.RelyingParty) ([]*Node, []string, error) {
	switch {
	case cfg.ForEachNode != nil:
		nodes, err := b.selected(cfg.ForEachNode)
		if err != nil {
			return nil, nil, err
		}
		var names []string
		for _, node := range nodes {
			names = append(names, node.Name)
		}
		return nodes, names, nil
	case len(cfg.Members) > 0:
		return nil, cfg.Members, nil
	default:
		return nil, []string{cfg.Name}, nil
	}
}

// probeFor returns how the member of that index, or of that node, is probed. A member whose address is not known has
// the address "", so that the attempt fails and says so.
func probeFor(cfg *configv1alpha1.TLSProbe, index int, node *Node) *trust.Probe {
	probe := &trust.Probe{
		ServerName: cfg.ServerName,
		ClientLeaf: nameFor(cfg.ClientLeaf, node),
		Interval:   durationOf(cfg.Interval),
		Timeout:    durationOf(cfg.Timeout),
	}
	switch {
	case node != nil && len(cfg.Addresses) > 0:
		probe.Address = nodeAddress(cfg.Addresses[0], node)
	case node == nil && index < len(cfg.Addresses):
		probe.Address = cfg.Addresses[index]
	}
	return probe
}

// nodeAddress puts the node's first address into a template such as {node}:2379, in brackets if it is IPv6.
func nodeAddress(template string, node *Node) string {
	host, port, err := net.SplitHostPort(template)
	if err != nil || len(node.Addresses) == 0 {
		return ""
	}
	return net.JoinHostPort(strings.ReplaceAll(host, configv1alpha1.NodePlaceholder, node.Addresses[0]), port)
}
