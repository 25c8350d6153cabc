// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/trust"
)

// party builds a relying party of a domain, with its members. The bundle of the domain must be known. The problems
// are nodes that cannot be probed.
func (b *builder) party(
	domain *trust.Domain, cfg *configv1alpha1.RelyingParty, leaves *leafIndex,
) (trust.Party, []trust.Problem, error) {
	out := trust.Party{
		Name:     cfg.Name,
		Kind:     trust.EvidenceKind(cfg.Evidence.Kind),
		Grace:    graceOf(&cfg.Evidence),
		Lease:    durationOf(cfg.Evidence.Lease),
		Reason:   cfg.Evidence.Reason,
		Verifies: leaves.selected(&cfg.Verifies),

		VerifiesNothing: cfg.Verifies.Nothing,
		Reporters:       reportersOf(cfg.Reporters),
	}
	readStart(&out, cfg.Evidence.WorkloadRollout)
	if m := cfg.Evidence.Mounted; m != nil {
		out.Mounts = trust.Mounts{Trust: m.TrustVolume, TrustKey: m.TrustKey, Leaves: m.LeafVolumes}
	}
	if cfg.Pods != nil {
		err := b.podMembers(domain.Name, &out, cfg, leaves)
		return out, nil, err
	}
	nodes, names, err := b.members(cfg, domain.Bundle.InjectInto)
	if err != nil {
		return trust.Party{}, nil, err
	}
	var problems []trust.Problem
	out.Members = make([]trust.Member, 0, len(names))
	for i, name := range names {
		member := trust.Member{
			Name:         name,
			Holds:        leaves.heldBy(cfg.Presents, name),
			Observations: b.observations(domain.Name, cfg.Name, name),
		}
		var node *Node
		if nodes != nil {
			node = nodes[i]
			member.Instance = string(node.UID)
		}
		if cfg.Evidence.TLSProbe != nil {
			member.Probes = probesFor(cfg.Evidence.TLSProbe, name, node, leaves)
			if node != nil && len(node.Addresses) == 0 {
				problems = append(problems, addressProblem(name, withoutAddress(len(node.doubts) > 0)+", so it cannot be probed"))
			}
		}
		out.Members = append(out.Members, member)
	}
	return out, problems, nil
}

func reportersOf(cfg *configv1alpha1.Reporters) *trust.Reporters {
	if cfg == nil {
		return nil
	}
	return &trust.Reporters{Users: cfg.Users, Groups: cfg.Groups, ServiceAccounts: cfg.ServiceAccounts}
}

// graceOf returns the delay that the operator configured for a kind of evidence that waits.
func graceOf(cfg *configv1alpha1.Evidence) time.Duration {
	switch {
	case cfg.Renewed != nil:
		return cfg.Renewed.MinimumDelay.Duration
	case cfg.CABundle != nil:
		return cfg.CABundle.MinimumDelay.Duration
	}
	return durationOf(cfg.GracePeriod)
}

// members returns the names of the members, and their nodes if there is one member per node. targets are the
// injection targets of the domain's bundle.
func (b *builder) members(cfg *configv1alpha1.RelyingParty, targets []trust.InjectionTarget) ([]*Node, []string, error) {
	switch {
	case cfg.Evidence.CABundle != nil:
		names := make([]string, 0, len(targets))
		for _, target := range targets {
			if configv1alpha1.InjectionKind(target.Kind).VerifiedByAPIServer() {
				names = append(names, target.Member())
			}
		}
		return nil, names, nil
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

// probesFor returns the probes of a member. node is nil unless there is one member per node. An unknown address is
// "", so that the probe fails and reports it.
func probesFor(cfg *configv1alpha1.TLSProbe, member string, node *Node, leaves *leafIndex) []trust.Probe {
	var probes []trust.Probe
	for i := range cfg.Endpoints {
		endpoint := &cfg.Endpoints[i]
		probe := trust.Probe{
			Address:    endpoint.Address,
			Presents:   leaves.held(endpoint.Presents, member),
			Handshake:  cfg.Proof == configv1alpha1.ProofHandshake,
			ServerName: endpoint.ServerName,
			ClientLeaf: nameFor(endpoint.ClientLeaf, node),
			Interval:   durationOf(cfg.Interval),
			Timeout:    durationOf(cfg.Timeout),
		}
		switch {
		case node != nil:
			probe.Address = nodeAddress(endpoint.Address, node)
		case endpoint.Member != member:
			continue
		}
		probes = append(probes, probe)
	}
	return probes
}

// nodeAddress puts the node's first address into a template such as {node}:2379, in brackets if it is IPv6.
func nodeAddress(template string, node *Node) string {
	host, port, err := net.SplitHostPort(template)
	if err != nil || len(node.Addresses) == 0 {
		return ""
	}
	return net.JoinHostPort(strings.ReplaceAll(host, configv1alpha1.NodePlaceholder, node.Addresses[0]), port)
}

// leafIndex finds the leaves that the parties of a domain verify and present. It evaluates each distinct selection
// once: a domain with thousands of clients costs one pass over its leaves.
type leafIndex struct {
	leaves     []expandedLeaf
	byTemplate map[leafKey]string
	selections map[string][]string
}

// leafKey identifies an expanded leaf; node is "" for one that exists once.
type leafKey struct{ template, node string }

func newLeafIndex(leaves []expandedLeaf) *leafIndex {
	x := &leafIndex{leaves: leaves, byTemplate: make(map[leafKey]string, len(leaves)), selections: map[string][]string{}}
	for _, l := range leaves {
		x.byTemplate[leafKey{template: l.cfg.SecretName, node: l.node}] = l.leaf.Name
	}
	return x
}

// selected returns the names of the selected leaves, in order. The result is shared.
func (x *leafIndex) selected(selection *configv1alpha1.LeafSelection) []string {
	key := fmt.Sprintf("%t %q %q", selection.Nothing, selection.Usages, selection.Leaves)
	if names, ok := x.selections[key]; ok {
		return names
	}
	var names []string
	for _, l := range x.leaves {
		if selection.Matches(*l.cfg) {
			names = append(names, l.leaf.Name)
		}
	}
	names = slices.Clip(names)
	x.selections[key] = names
	return names
}

// heldBy returns the leaves that a member presents, in the order of presents. A leaf that exists for each node is the
// one of the node with the member's name.
func (x *leafIndex) heldBy(presents []string, member string) []string {
	var out []string
	for _, template := range presents {
		if name := x.held(template, member); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// held is heldBy for one leaf, "" if there is none.
func (x *leafIndex) held(template, member string) string {
	for _, node := range []string{"", member} {
		if name, ok := x.byTemplate[leafKey{template: template, node: node}]; ok {
			return name
		}
	}
	return ""
}
