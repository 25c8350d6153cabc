// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"slices"
	"strings"
)

// GroupBootstrappers may ask for every configured node. Whoever has a bootstrap token is in it.
const GroupBootstrappers = "system:bootstrappers"

const (
	groupNodes = "system:nodes"
	nodePrefix = "system:node:"
)

// Requester is who asks, as the server has authenticated it.
type Requester struct {
	Name   string
	Groups []string
}

// mayAskFor a node: a bootstrapper for every one, a node (by its kubelet's client certificate) for itself.
func (r Requester) mayAskFor(node string) error {
	if slices.Contains(r.Groups, GroupBootstrappers) {
		return nil
	}
	if slices.Contains(r.Groups, groupNodes) && strings.HasPrefix(r.Name, nodePrefix) {
		if r.Name == nodePrefix+node {
			return nil
		}
		return refuse(RequesterNotAllowed, "%s asks for a certificate of the node %s; a node may ask for itself only", quote(r.Name), node)
	}
	return refuse(RequesterNotAllowed, "%s is neither in the group %s nor a node in the group %s", quote(r.Name), GroupBootstrappers, groupNodes)
}
