// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ParseNode keeps of a Node what the model needs. An address that cannot be in a certificate is left out.
func ParseNode(node *corev1.Node) *Node {
	out := &Node{ObjectMeta: metav1.ObjectMeta{
		Name:            node.Name,
		UID:             node.UID,
		ResourceVersion: node.ResourceVersion,
		Labels:          maps.Clone(node.Labels),
	}}
	for _, address := range node.Status.Addresses {
		if address.Type != corev1.NodeInternalIP {
			continue
		}
		ip, err := netip.ParseAddr(address.Address)
		if err != nil || ip.Zone() != "" {
			continue
		}
		if text := ip.Unmap().String(); !slices.Contains(out.Addresses, text) {
			out.Addresses = append(out.Addresses, text)
		}
	}
	return out
}

// same says whether two states of a node make no difference to any domain. Nodes are updated all the time, by their
// heartbeats.
func (n *Node) same(other *Node) bool {
	return n.Name == other.Name && n.UID == other.UID &&
		maps.Equal(n.Labels, other.Labels) && slices.Equal(n.Addresses, other.Addresses)
}
