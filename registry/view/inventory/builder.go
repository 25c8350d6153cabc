// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strings"

	"certrotation.dev/registry/trust"
)

// builder collects what the configurations of a namespace contribute, the oldest configuration first.
type builder struct {
	sources *Sources
	nodes   []*Node
	records map[memberKey]*trust.Observation
	// claims of all configurations so far. owners are the names of the configurations that they belong to.
	claims   map[objectKey]Claim
	owners   map[objectKey]string
	domains  map[string]string
	problems []trust.Problem
	// rolledOut is the rollout of the namespace, nil if there is none, and rolloutOwner the name of its configuration.
	rolledOut    *Rollout
	rolloutOwner string
}

type memberKey struct{ domain, party, member string }

func newBuilder(s *Sources, configurations []*ConfigMap) *builder {
	b := &builder{
		sources: s,
		records: map[memberKey]*trust.Observation{},
		claims:  map[objectKey]Claim{},
		owners:  map[objectKey]string{},
		domains: map[string]string{},
	}
	for _, name := range sortedNames(s.Nodes) {
		b.nodes = append(b.nodes, s.Nodes[name])
	}
	for _, cm := range s.ConfigMaps {
		if e := cm.Evidence; e != nil && e.Observation != nil {
			b.records[memberKey{domain: e.Domain, party: e.Party, member: e.Member}] = e.Observation
		}
	}
	// A configuration is nobody's bundle, whichever is older.
	for _, cm := range configurations {
		key := objectKey{kind: trust.ConfigMapKind, name: cm.Name}
		b.claims[key] = Claim{Kind: ClaimConfiguration}
		b.owners[key] = cm.Name
	}
	return b
}

// add returns what a configuration contributes. If there is something wrong with it, that is nothing but a problem.
func (b *builder) add(cm *ConfigMap) *part {
	if cm.Configuration.Loaded == nil {
		b.refuse(cm.Name, ReasonInvalidConfiguration, cm.Configuration.Error)
		return nil
	}
	p, err := b.expand(cm.Configuration.Loaded)
	if err != nil {
		b.refuse(cm.Name, ReasonInvalidConfiguration, err.Error())
		return nil
	}
	if conflicts := b.conflicts(p); len(conflicts) > 0 {
		b.refuse(cm.Name, ReasonConflictingClaim, fmt.Sprintf(
			"nothing of it takes effect, because others have what it claims: %s; use other names in one of them",
			listed(conflicts)))
		return nil
	}
	for key, claim := range p.claims {
		b.claims[key], b.owners[key] = claim, cm.Name
	}
	for _, d := range p.domains {
		b.domains[d.Name] = cm.Name
	}
	if p.rollout != nil {
		b.rolledOut, b.rolloutOwner = p.rollout, cm.Name
	}
	return p
}

// conflicts names what an older configuration has already: domains as configured, then objects ordered by name.
func (b *builder) conflicts(p *part) []string {
	var domains, objects []string
	for _, d := range p.domains {
		if owner, ok := b.domains[d.Name]; ok {
			domains = append(domains, fmt.Sprintf("trust domain %s of ConfigMap/%s", d.Name, owner))
		}
	}
	for key := range p.claims {
		owner, ok := b.owners[key]
		switch {
		case !ok:
		case b.claims[key].Kind == ClaimConfiguration:
			objects = append(objects, fmt.Sprintf("%s/%s, which is a configuration", key.kind, key.name))
		default:
			objects = append(objects, fmt.Sprintf("%s/%s of ConfigMap/%s", key.kind, key.name, owner))
		}
	}
	slices.Sort(objects)
	return slices.Concat(domains, b.rolloutConflicts(p), objects)
}

// rolloutConflicts are about what a rollout has without a claim: its status, and the numbers of the revisions, which are
// counted once in a namespace (ConfigMap/revision-status-N).
func (b *builder) rolloutConflicts(p *part) []string {
	var out []string
	if p.rollout != nil {
		status := statusKey(p.rollout)
		if b.rolledOut != nil {
			out = append(out, fmt.Sprintf("the rollout of the namespace, %s of ConfigMap/%s, which numbers ConfigMap/revision-status-N (another rollout needs another namespace)", b.rolledOut.Config.Name, b.rolloutOwner))
		}
		if owner, ok := b.owners[status]; ok {
			out = append(out, fmt.Sprintf("%s/%s of ConfigMap/%s", status.kind, status.name, owner))
		}
	}
	if b.rolledOut != nil {
		status := statusKey(b.rolledOut)
		if _, taken := p.claims[status]; taken {
			out = append(out, fmt.Sprintf("%s/%s, the status of the rollout of ConfigMap/%s", status.kind, status.name, b.rolloutOwner))
		}
	}
	return out
}

func (b *builder) refuse(configuration string, reason trust.Reason, message string) {
	b.problems = append(b.problems, trust.Problem{
		Object: objectName(trust.ConfigMapKind, configuration), Reason: reason, Message: message,
	})
}

// claimEvidence comes last: a record takes no name away from a configuration.
func (b *builder) claimEvidence() {
	for name, cm := range b.sources.ConfigMaps {
		key := objectKey{kind: trust.ConfigMapKind, name: name}
		if _, taken := b.claims[key]; taken || cm.Evidence == nil {
			continue
		}
		b.claims[key] = Claim{Domain: cm.Evidence.Domain, Kind: ClaimEvidence}
		if cm.Evidence.Observation == nil {
			b.refuse(name, ReasonInvalidEvidence, fmt.Sprintf(
				"the record proves nothing: %s; delete it, and it is written anew when its member is observed", cm.Evidence.Error))
		}
	}
}

func objectName(kind trust.ObjectKind, name string) string { return string(kind) + "/" + name }

// listed joins names for a message; a namespace may have thousands of them.
func listed(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
