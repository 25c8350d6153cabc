// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// leafIndex answers which leaves of a domain its parties verify and present. Parties mostly have equal selections, so
// each selection is evaluated once: a domain with thousands of clients costs one pass over its leaves.
type leafIndex struct {
	leaves     []expandedLeaf
	byTemplate map[leafKey]string
	selections map[string][]string
}

// leafKey finds an expanded leaf; node is "" for one that exists once.
type leafKey struct{ template, node string }

func newLeafIndex(leaves []expandedLeaf) *leafIndex {
	x := &leafIndex{leaves: leaves, byTemplate: make(map[leafKey]string, len(leaves)), selections: map[string][]string{}}
	for _, l := range leaves {
		x.byTemplate[leafKey{template: l.cfg.SecretName, node: l.node}] = l.leaf.Name
	}
	return x
}

// selected returns the names of the leaves that a selection has, in order. The result is shared.
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

// heldBy returns the leaves that a member presents, in the order of presents: those that exist once, and of those that
// exist for each node the one of the node that is named as the member.
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
