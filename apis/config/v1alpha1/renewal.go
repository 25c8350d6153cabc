// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// renewalOrder is the dependency graph of the parties with the evidence renewed. Such a party trusts a CA once the
// leaves that it presents are signed by it. A leaf is signed once every party that verifies it trusts the CA. So a
// party depends on its leaves, and a leaf on the renewed parties that verify it. A cycle could never progress.
type renewalOrder struct {
	leaves  map[string]Leaf
	renewed map[string]RelyingParty
	// names of the renewed parties, in the order of the configuration.
	names []string
	// trail is the path from the start to the current node.
	trail []renewalNode
	// walked nodes are not entered again: each leaf is matched with each party only once.
	walked map[renewalNode]bool
}

type renewalNode struct {
	name   string
	isLeaf bool
}

// validateRenewalOrder refuses parties whose evidence depends on itself.
func validateRenewalOrder(domain *TrustDomain, path *field.Path) field.ErrorList {
	order := renewalOrder{
		leaves:  make(map[string]Leaf, len(domain.Leaves)),
		renewed: map[string]RelyingParty{},
		walked:  map[renewalNode]bool{},
	}
	for _, leaf := range domain.Leaves {
		order.leaves[leaf.SecretName] = leaf
	}
	index := map[string]int{}
	for i, party := range domain.RelyingParties {
		if typeOf(party.Evidence.Kind).byRenewal {
			order.renewed[party.Name] = party
			order.names = append(order.names, party.Name)
			index[party.Name] = i
		}
	}

	var errs field.ErrorList
	for _, name := range order.names {
		if domain.Issuer != "" {
			errs = append(errs, field.Invalid(path.Index(index[name]).Child("evidence", "kind"), domain.RelyingParties[index[name]].Evidence.Kind,
				"an issuer signs with the new CA when all have loaded it, so that no renewal can be the evidence of it: use another kind"))
			continue
		}
		order.trail = order.trail[:0]
		if cycle := order.cycle(renewalNode{name: name}); cycle != nil {
			at := path.Index(index[firstParty(cycle)]).Child("evidence", "kind")
			errs = append(errs, field.Invalid(at, domain.RelyingParties[index[firstParty(cycle)]].Evidence.Kind, explainCycle(cycle)))
		}
	}
	return errs
}

// cycle walks depth first and returns the first cycle that it closes, or nil.
func (o *renewalOrder) cycle(node renewalNode) []renewalNode {
	if o.walked[node] {
		if at := slices.Index(o.trail, node); at >= 0 {
			return slices.Clone(o.trail[at:])
		}
		return nil
	}
	o.walked[node] = true
	o.trail = append(o.trail, node)
	for _, next := range o.waitsFor(node) {
		if cycle := o.cycle(next); cycle != nil {
			return cycle
		}
	}
	o.trail = o.trail[:len(o.trail)-1]
	return nil
}

func (o *renewalOrder) waitsFor(node renewalNode) []renewalNode {
	var nodes []renewalNode
	if !node.isLeaf {
		for _, name := range o.renewed[node.name].Presents {
			nodes = append(nodes, renewalNode{name: name, isLeaf: true})
		}
		return nodes
	}
	for _, name := range o.names {
		if leaf, ok := o.leaves[node.name]; ok && o.renewed[name].Verifies.Matches(leaf) {
			nodes = append(nodes, renewalNode{name: name})
		}
	}
	return nodes
}

func firstParty(cycle []renewalNode) string {
	return cycle[slices.IndexFunc(cycle, func(node renewalNode) bool { return !node.isLeaf })].name
}

// explainCycle describes a cycle, from its first party on.
func explainCycle(cycle []renewalNode) string {
	start := slices.IndexFunc(cycle, func(node renewalNode) bool { return !node.isLeaf })
	var steps []string
	for i := 0; i < len(cycle); i += 2 {
		at := func(offset int) string { return cycle[(start+i+offset)%len(cycle)].name }
		steps = append(steps, fmt.Sprintf("%s renews %s only when %s trusts the new CA", at(0), at(1), at(2)))
	}
	return fmt.Sprintf("a rotation could never progress: %s; prove one of them by another kind of evidence",
		strings.Join(steps, ", and "))
}
