// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"

	"certrotation.dev/registry/trust"
)

// Build makes of the facts of a namespace what its configurations say they are. It returns nil if there is no
// configuration. Nothing is parsed here, and the same facts give the same answer.
func Build(s *Sources) *Namespace {
	configurations := configurationsOf(s)
	if len(configurations) == 0 {
		return nil
	}
	b := newBuilder(s, configurations)
	parts := map[string]*part{}
	for _, cm := range byAge(configurations) {
		if p := b.add(cm); p != nil {
			parts[cm.Name] = p
		}
	}
	b.claimEvidence()

	out := &Namespace{Name: s.Namespace, claims: b.claims}
	for _, cm := range configurations {
		out.Configurations = append(out.Configurations, cm.Name)
		if p := parts[cm.Name]; p != nil {
			out.Domains = append(out.Domains, p.domains...)
			if p.aggregate != nil {
				out.Aggregates = append(out.Aggregates, p.aggregate)
			}
			if p.rollout != nil {
				p.rollout.Configuration = cm.Name
				for _, d := range p.domains {
					p.rollout.Domains = append(p.rollout.Domains, d.Name)
				}
				out.Rollouts = append(out.Rollouts, p.rollout)
			}
			out.Copies = append(out.Copies, p.copies...)
		}
	}
	slices.SortFunc(b.problems, func(x, y trust.Problem) int { return cmp.Compare(x.Object, y.Object) })
	out.Problems = b.problems
	return out
}

// configurationsOf returns the ConfigMaps that claim to be a configuration, ordered by name.
func configurationsOf(s *Sources) []*ConfigMap {
	var list []*ConfigMap
	for _, cm := range s.ConfigMaps {
		if cm.Configuration != nil {
			list = append(list, cm)
		}
	}
	slices.SortFunc(list, func(x, y *ConfigMap) int { return cmp.Compare(x.Name, y.Name) })
	return list
}

// byAge puts the oldest first: it keeps what a younger one claims as well.
func byAge(configurations []*ConfigMap) []*ConfigMap {
	list := slices.Clone(configurations)
	slices.SortStableFunc(list, func(x, y *ConfigMap) int {
		return x.CreationTimestamp.Compare(y.CreationTimestamp.Time)
	})
	return list
}
