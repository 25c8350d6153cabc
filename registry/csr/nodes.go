// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package csr

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"certrotation.dev/apis/document"
)

// Nodes are the nodes for which the signer signs, and the names that their certificates may carry.
type Nodes struct {
	// Shared names, such as localhost, may be in the certificate of every node.
	Shared Names  `json:"shared,omitempty"`
	Nodes  []Node `json:"nodes"`
}

// Node is one node. Its name is also one of its DNS names.
type Node struct {
	Name  string `json:"name"`
	Names `json:",inline"`
}

// Names are the names of a server.
type Names struct {
	DNSNames    []string `json:"dnsNames,omitempty"`
	IPAddresses []string `json:"ipAddresses,omitempty"`
}

// MaxNodesBytes bounds a file of nodes.
const MaxNodesBytes = 1 << 20

// ParseNodes parses a file of nodes. It refuses unknown fields.
func ParseNodes(data []byte) (*Nodes, error) {
	nodes := &Nodes{}
	if err := document.Unmarshal(data, MaxNodesBytes, nodes, true); err != nil {
		return nil, fmt.Errorf("parse nodes: %w", err)
	}
	return nodes, nil
}

// AddName adds a DNS name or an IP address.
func (n *Names) AddName(name string) {
	if _, err := netip.ParseAddr(name); err == nil {
		n.IPAddresses = append(n.IPAddresses, name)
		return
	}
	n.DNSNames = append(n.DNSNames, name)
}

// Validate returns all errors of the nodes.
func (n *Nodes) Validate() error {
	var errs []error
	if len(n.Nodes) == 0 {
		errs = append(errs, errors.New("no node is configured: nothing could be signed"))
	}
	errs = append(errs, n.Shared.validate("shared names")...)
	seen := map[string]bool{}
	for i := range n.Nodes {
		node := &n.Nodes[i]
		for _, problem := range validation.IsDNS1123Subdomain(node.Name) {
			errs = append(errs, fmt.Errorf("node %q: %s", node.Name, problem))
		}
		if seen[node.Name] {
			errs = append(errs, fmt.Errorf("node %q is configured twice", node.Name))
		}
		seen[node.Name] = true
		errs = append(errs, node.validate(fmt.Sprintf("node %q", node.Name))...)
	}
	return errors.Join(errs...)
}

func (n *Names) validate(what string) []error {
	var errs []error
	for _, name := range n.DNSNames {
		for _, problem := range validation.IsDNS1123Subdomain(name) {
			errs = append(errs, fmt.Errorf("%s: DNS name %q: %s", what, name, problem))
		}
	}
	for _, text := range n.IPAddresses {
		if address, err := netip.ParseAddr(text); err != nil || address.Zone() != "" || address.IsUnspecified() || address.IsMulticast() {
			errs = append(errs, fmt.Errorf("%s: %q is not usable as the IP address of a server", what, text))
		}
	}
	return errs
}

func (n *Nodes) node(name string) (*Node, error) {
	var known []string
	for i := range n.Nodes {
		if n.Nodes[i].Name == name {
			return &n.Nodes[i], nil
		}
		known = append(known, n.Nodes[i].Name)
	}
	return nil, refuse(NodeNotAllowed, "the node %s is not configured; this signer signs for %s", quote(name), quoteAll(known))
}

func (n *Nodes) check(node *Node, dnsNames []string, addresses []netip.Addr) error {
	for _, name := range dnsNames {
		if name == "" {
			return refuse(NameNotAllowed, "the request has an empty DNS name; leave it out")
		}
		if name != node.Name && !slices.Contains(node.DNSNames, name) && !slices.Contains(n.Shared.DNSNames, name) {
			return refuse(NameNotAllowed, "the DNS name %s is not configured for node %s: add it to the nodes of the signer, or leave it out", quote(name), node.Name)
		}
	}
	for _, address := range addresses {
		if !node.has(address) && !n.Shared.has(address) {
			return refuse(NameNotAllowed, "the IP address %s is not configured for node %s: add it to the nodes of the signer, or leave it out", address, node.Name)
		}
	}
	return nil
}

func (n *Names) has(address netip.Addr) bool {
	return slices.ContainsFunc(n.IPAddresses, func(text string) bool {
		known, err := netip.ParseAddr(text)
		return err == nil && known.Unmap() == address
	})
}
