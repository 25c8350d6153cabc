// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/display"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/trust"
)

// builder collects the contributions of the configurations of a namespace, oldest configuration first.
type builder struct {
	sources *Sources
	// nodes of the cluster, ordered by name, with the addresses that filterAddresses accepts for the current configuration.
	nodes []*Node
	// reported maps an address to the nodes that report it; nil until needed.
	reported map[string][]*Node
	// podNames are the names of the pods, ordered; nil until needed.
	podNames []string
	// records by trust domain.
	records map[string]*domainRecords
	// claims of all configurations so far. owners are the names of the claiming configurations.
	claims  map[objectKey]Claim
	owners  map[objectKey]string
	domains map[string]string
	// unnamed are the claims of leaves that no configuration names.
	unnamed map[objectKey]bool
	// byName are all editions, nil until needed.
	byName   map[editionKey][]*edition.Edition
	problems []trust.Problem
	// rolledOut is the rollout of the namespace, nil if there is none. rolloutOwner is the name of its configuration.
	rolledOut    *Rollout
	rolloutOwner string
}

func newBuilder(s *Sources) *builder {
	b := &builder{
		sources: s,
		records: recordsByDomain(s.Records),
		claims:  map[objectKey]Claim{},
		owners:  map[objectKey]string{},
		domains: map[string]string{},
	}
	return b
}

// add returns the contribution of a configuration. An invalid configuration only adds a problem.
func (b *builder) add(cfg *Configuration) *part {
	if cfg.Loaded == nil {
		b.refuse(cfg.Name, ReasonInvalidConfiguration, cfg.Error)
		return nil
	}
	if b.sources.NodesUnknown && aboutNodes(cfg.Loaded) {
		b.refuse(cfg.Name, ReasonNodesUnknown, "nothing of it takes effect, because it is about nodes, which may not be "+
			"listed here; grant list and watch of nodes to certrotation, controller and serve")
		return nil
	}
	p, err := b.expand(cfg.Name, cfg.Loaded)
	if err != nil {
		b.refuse(cfg.Name, ReasonInvalidConfiguration, err.Error())
		return nil
	}
	if conflicts := b.conflicts(p); len(conflicts) > 0 {
		b.refuse(cfg.Name, ReasonConflictingClaim, fmt.Sprintf(
			"nothing of it takes effect, because others have what it claims: %s; use other names in one of them",
			display.Names(conflicts)))
		return nil
	}
	for key, claim := range p.claims {
		b.claims[key], b.owners[key] = claim, cfg.Name
	}
	for _, d := range p.domains {
		b.domains[d.Name] = cfg.Name
	}
	if p.rollout != nil {
		b.rolledOut, b.rolloutOwner = p.rollout, cfg.Name
	}
	return p
}

// aboutNodes reports whether a configuration depends on the nodes of the cluster.
func aboutNodes(cfg *configv1alpha1.RotationConfigurationSpec) bool {
	if cfg.Rollout != nil && cfg.Rollout.StaticPod != nil {
		return true
	}
	return slices.ContainsFunc(cfg.TrustDomains, func(d configv1alpha1.TrustDomain) bool {
		return slices.ContainsFunc(d.Leaves, func(l configv1alpha1.Leaf) bool { return l.ForEachNode != nil }) ||
			slices.ContainsFunc(d.RelyingParties, func(p configv1alpha1.RelyingParty) bool { return p.ForEachNode != nil })
	})
}

// conflicts names what an older configuration already has: domains in the configured order, then conflicts of the
// rollout, then objects ordered by name.
func (b *builder) conflicts(p *part) []string {
	var domains, objects []string
	for _, d := range p.domains {
		if owner, ok := b.domains[d.Name]; ok {
			domains = append(domains, fmt.Sprintf("trust domain %s of %s", d.Name, objectName(ConfigurationKind, owner)))
		}
	}
	for key := range p.claims {
		if owner, ok := b.owners[key]; ok {
			objects = append(objects, fmt.Sprintf("%s of %s", objectName(key.kind, key.name), objectName(ConfigurationKind, owner)))
		}
	}
	slices.Sort(objects)
	return slices.Concat(domains, b.rolloutConflicts(p), objects)
}

// rolloutConflicts names the conflicts about what a rollout has without a claim: its status, and the numbers of the
// revisions, which are unique in a namespace (ConfigMap/revision-status-N).
func (b *builder) rolloutConflicts(p *part) []string {
	var out []string
	if p.rollout != nil {
		status := statusKey(p.rollout)
		if b.rolledOut != nil {
			out = append(out, fmt.Sprintf("the rollout of the namespace, %s of %s, which numbers ConfigMap/revision-status-N (another rollout needs another namespace)", b.rolledOut.Config.Name, objectName(ConfigurationKind, b.rolloutOwner)))
		}
		if owner, ok := b.owners[status]; ok {
			out = append(out, fmt.Sprintf("%s of %s", objectName(status.kind, status.name), objectName(ConfigurationKind, owner)))
		}
	}
	if b.rolledOut != nil {
		status := statusKey(b.rolledOut)
		if _, taken := p.claims[status]; taken {
			out = append(out, fmt.Sprintf("%s, the status of the rollout of %s", objectName(status.kind, status.name), objectName(ConfigurationKind, b.rolloutOwner)))
		}
	}
	return out
}

func (b *builder) refuse(configuration string, reason trust.Reason, message string) {
	b.problems = append(b.problems, *problemOf(ConfigurationKind, configuration, reason, message))
}

func objectName(kind trust.ObjectKind, name string) string { return string(kind) + "/" + name }

// Build derives a Namespace from the facts, nil if there is no configuration. It parses nothing, and the same facts
// give the same result.
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

	out := &Namespace{
		Name: s.Namespace, sources: s, records: b.records, claims: b.claims, configured: map[string][]string{}, editions: map[editionKey]Claim{},
	}
	for _, name := range sortedNames(s.Configurations) {
		out.Configurations = append(out.Configurations, name)
		if p := parts[name]; p != nil {
			out.add(name, p)
			maps.Copy(out.editions, claimedEditions(s.Configurations[name].Loaded, name))
		}
	}
	// Runs after all configurations are added: a leaf is unnamed only if none of them names it.
	b.addUnnamed(out.Domains)
	out.unnamed = b.unnamed
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
	for _, c := range p.clusters {
		n.Clusters = with(n.Clusters, c.Name, c)
	}
	n.addQuorums(configuration, p.configured)
}

// byAge sorts the oldest configuration first: an object that several claim belongs to the oldest.
func byAge(configurations map[string]*Configuration) []*Configuration {
	return slices.SortedFunc(maps.Values(configurations), func(x, y *Configuration) int {
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), cmp.Compare(x.Name, y.Name))
	})
}

// Configured returns the input of trust.JudgeConfiguration. It is empty for a namespace without a configuration.
func (n *Namespace) Configured() *trust.Configured {
	if n == nil {
		return &trust.Configured{}
	}
	out := &trust.Configured{Domains: n.Domains, Aggregates: n.Aggregates}
	for i := range n.Copies {
		c := &n.Copies[i]
		name := fmt.Sprintf("the copy of %s/%s to %s/%s", c.Kind, c.Name, c.ToNamespace, c.ToName)
		if c.Cluster != "" {
			name += " in cluster " + c.Cluster
		}
		out.Carriers = append(out.Carriers, trust.Carrier{
			Name:    name,
			Objects: []string{objectName(trust.ObjectKind(c.Kind), c.Name)},
		})
	}
	for _, r := range n.Rollouts {
		carrier := trust.Carrier{Name: "the rollout " + r.Config.Name}
		for _, name := range r.Domains {
			if d := n.Domain(name); d != nil {
				carrier.Objects = append(carrier.Objects, objectName(trust.ConfigMapKind, d.Bundle.Name))
			}
		}
		out.Carriers = append(out.Carriers, carrier)
	}
	return out
}
