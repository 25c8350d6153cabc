// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// Bounds of one expanded configuration: what exists for each node counts once per node. They are checked before the
// expansion. A configuration beyond them has a Problem and no effect; others are not affected.
const (
	// MaxNodes of one selector: the largest cluster that Kubernetes supports.
	MaxNodes = 5000
	// MaxDomainLeaves and MaxDomainMembers of one trust domain: a roster records no more.
	MaxDomainLeaves  = 5000
	MaxDomainMembers = 5000
	// MaxLeaves and MaxMembers of all trust domains of a configuration.
	MaxLeaves  = 20000
	MaxMembers = 20000
	// MaxLinks bounds the relations between members and leaves or addresses: what each presents, where it is probed,
	// which it verifies. Their number, up to the product of members and leaves, determines the cost of an assessment.
	MaxLinks = 500000
)

type extent struct{ leaves, members, links int }

// checkExtent returns an error if a configuration exceeds a bound. Nodes that join can make it do so later.
func (b *builder) checkExtent(cfg *configv1alpha1.RotationConfigurationSpec) error {
	var all extent
	for i := range cfg.TrustDomains {
		domain := &cfg.TrustDomains[i]
		e, err := b.extentOf(domain)
		if err != nil {
			return fmt.Errorf("trust domain %s: %w", domain.Name, err)
		}
		all.leaves += e.leaves
		all.members += e.members
		all.links += e.links
		if err := within("trust domain "+domain.Name, e.leaves, MaxDomainLeaves, "leaves"); err != nil {
			return err
		}
		if err := within("trust domain "+domain.Name, e.members, MaxDomainMembers, "members"); err != nil {
			return err
		}
	}
	if err := within("all trust domains", all.leaves, MaxLeaves, "leaves"); err != nil {
		return err
	}
	if err := within("all trust domains", all.members, MaxMembers, "members"); err != nil {
		return err
	}
	return within("all trust domains", all.links, MaxLinks, "links between members and what they present, verify or are probed at")
}

func within(of string, got, most int, what string) error {
	if got <= most {
		return nil
	}
	return fmt.Errorf("%s: %d %s are more than the %d of one configuration: split it, or choose fewer nodes", of, got, what, most)
}

func (b *builder) extentOf(domain *configv1alpha1.TrustDomain) (extent, error) {
	var e extent
	counts := make(map[string]int, len(domain.Leaves))
	for i := range domain.Leaves {
		n := 1
		if selector := domain.Leaves[i].ForEachNode; selector != nil {
			nodes, err := b.selected(selector)
			if err != nil {
				return e, err
			}
			if n = len(nodes); n > MaxNodes {
				return e, tooManyNodes(n)
			}
		}
		e.leaves += n
		counts[domain.Leaves[i].SecretName] = n
	}
	for i := range domain.RelyingParties {
		party := &domain.RelyingParties[i]
		n := max(1, len(party.Members))
		if party.ForEachNode != nil {
			nodes, err := b.selected(party.ForEachNode)
			if err != nil {
				return e, err
			}
			if n = len(nodes); n > MaxNodes {
				return e, tooManyNodes(n)
			}
		}
		if party.Pods != nil {
			pods, _, err := b.pods(party.Pods)
			if err != nil {
				return e, err
			}
			if n = len(pods); n > MaxPods {
				return e, fmt.Errorf("relying party %s: it chooses %d pods, more than the %d of one party: choose fewer in several parties", party.Name, n, MaxPods)
			}
		}
		e.members += n
		e.links += n * (verified(domain, &party.Verifies, counts) + len(party.Presents))
		if probe := party.Evidence.TLSProbe; probe != nil {
			if party.ForEachNode != nil || party.Pods != nil {
				e.links += n * max(1, len(probe.Endpoints))
			} else {
				e.links += len(probe.Endpoints)
			}
		}
	}
	return e, nil
}

func verified(domain *configv1alpha1.TrustDomain, selection *configv1alpha1.LeafSelection, counts map[string]int) int {
	sum := 0
	if len(selection.Leaves) > 0 {
		for _, name := range selection.Leaves {
			sum += counts[name]
		}
		return sum
	}
	for i := range domain.Leaves {
		if selection.Matches(domain.Leaves[i]) {
			sum += counts[domain.Leaves[i].SecretName]
		}
	}
	return sum
}

func tooManyNodes(n int) error {
	return fmt.Errorf("forEachNode chooses %d nodes, more than the %d of one selector", n, MaxNodes)
}
