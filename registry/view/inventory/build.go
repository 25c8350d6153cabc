// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"maps"
	"slices"

	"certrotation.dev/registry/trust"
)

// Build derives from the facts of a namespace what its configurations say about them. It returns nil if there is no
// configuration. Nothing is parsed here, and the same facts give the same result.
func Build(s *Sources) *Namespace {
	if len(s.Configurations) == 0 {
		return nil
	}
	b := newBuilder(s)
	parts := map[string]*part{}
	for _, cfg := range byAge(s.Configurations) {
		if p := b.add(cfg); p != nil {
			parts[cfg.Name] = p
		}
	}
	b.refuseRecords()

	out := &Namespace{Name: s.Namespace, claims: b.claims, configured: map[string][]string{}}
	for _, name := range sortedNames(s.Configurations) {
		out.Configurations = append(out.Configurations, name)
		if p := parts[name]; p != nil {
			out.add(name, p)
		}
	}
	// What the configurations name goes first: the leaves that they do not name are of the rest.
	b.addUnnamed(out.Domains)
	for _, aggregate := range out.Aggregates {
		keepUnnamed(aggregate, out.Domains)
	}
	slices.SortFunc(b.problems, func(x, y trust.Problem) int { return cmp.Compare(x.Object, y.Object) })
	out.Problems = b.problems
	return out
}

func (n *Namespace) add(configuration string, p *part) {
	n.Domains = append(n.Domains, p.domains...)
	for _, d := range p.domains {
		n.configured[configuration] = append(n.configured[configuration], d.Name)
	}
	if p.aggregate != nil {
		n.Aggregates = append(n.Aggregates, p.aggregate)
	}
	if p.rollout != nil {
		p.rollout.Configuration = configuration
		p.rollout.Domains = n.configured[configuration]
		n.Rollouts = append(n.Rollouts, p.rollout)
	}
	n.Copies = append(n.Copies, p.copies...)
}

// byAge sorts the oldest first: an object that several configurations claim belongs to the oldest.
func byAge(configurations map[string]*Configuration) []*Configuration {
	return slices.SortedFunc(maps.Values(configurations), func(x, y *Configuration) int {
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), cmp.Compare(x.Name, y.Name))
	})
}
