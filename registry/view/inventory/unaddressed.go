// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"

	"certrotation.dev/registry/trust"
)

// unaddressed are the nodes without an address, and what that means.
type unaddressed map[string]*consequences

type consequences struct {
	leftOut, kept []string
	doubted       bool
}

// add notes a leaf of a node; present says that its Secret exists.
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

// problems has one problem for each node, ordered.
func (u unaddressed) problems() []trust.Problem {
	var out []trust.Problem
	for _, name := range sortedNames(u) {
		message := withoutAddress(u[name].doubted)
		if leaves := u[name].leftOut; len(leaves) > 0 {
			message += fmt.Sprintf(", so these leaves are not issued: %s", listed(leaves))
		}
		if leaves := u[name].kept; len(leaves) > 0 {
			message += fmt.Sprintf(", so these leaves keep the addresses that they have: %s", listed(leaves))
		}
		out = append(out, addressProblem(name, message))
	}
	return out
}

func withoutAddress(doubted bool) string {
	if doubted {
		return "the node has no InternalIP that is believed to be its own"
	}
	return "the node has no InternalIP"
}

func addressProblem(node, message string) trust.Problem {
	return trust.Problem{
		Object:  "Node/" + node,
		Reason:  trust.ReasonNodeWithoutAddress,
		Message: message + "; have its kubelet or cloud provider report one (status.addresses)",
	}
}
