// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"fmt"
	"net/netip"
	"slices"
)

// Ranges are the configured address ranges.
type Ranges struct {
	// Nodes are the ranges that an address of a node must be in; if there are none, it may be anywhere.
	Nodes []netip.Prefix
	// Services are the ranges of virtual addresses, which no node owns.
	Services []netip.Prefix
}

// Claimant is a node whose kubelet reports an address.
type Claimant struct {
	Node string
	// Holds means that a certificate of this node already carries the address.
	Holds bool
}

// Doubt is the reason to refuse an address for a node.
type Doubt struct {
	Address string
	// Contested means that other nodes report the address too. Otherwise no node can have it.
	Contested bool
	Message   string
}

// Judge returns why the address that a kubelet reports is refused for its node, nil if it is accepted. The claimants
// are all nodes that report it, this node included.
//
// If several nodes report an address, it stays with the only one whose certificate carries it. A node that reports it
// later neither gets it nor takes it away. If no certificate or several carry it, none of the nodes gets it, because
// nothing shows which of them owns it.
func (r *Ranges) Judge(text, node string, claimants []Claimant) *Doubt {
	doubt := func(format string, args ...any) *Doubt {
		return &Doubt{Address: text, Message: fmt.Sprintf(format, args...)}
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return doubt("it is not an IP address")
	}
	for _, meant := range Meanings(ip) {
		if what := Reserved(meant); what != "" {
			return doubt("it is %s, which no node can own", what)
		}
	}
	switch {
	case contains(r.Services, ip):
		return doubt("it is in a range of Service addresses (spec.serviceCIDRs)")
	case len(r.Nodes) > 0 && !contains(r.Nodes, ip):
		return doubt("it is outside of the ranges of node addresses (spec.nodeCIDRs)")
	}
	return contested(text, node, claimants)
}

func contested(text, node string, claimants []Claimant) *Doubt {
	others := slices.DeleteFunc(slices.Clone(claimants), func(c Claimant) bool { return c.Node == node })
	if len(others) == 0 {
		return nil
	}
	holders := slices.DeleteFunc(slices.Clone(claimants), func(c Claimant) bool { return !c.Holds })
	out := &Doubt{Address: text, Contested: true}
	switch {
	case len(holders) == 1 && holders[0].Node == node:
		return nil
	case len(holders) == 1:
		out.Message = fmt.Sprintf("node %s reports it too, and has it in its certificate", holders[0].Node)
	default:
		out.Message = fmt.Sprintf("node %s reports it too, and which of them owns it cannot be determined", others[0].Node)
	}
	return out
}

func contains(ranges []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(r netip.Prefix) bool { return r.Contains(ip.Unmap()) })
}

// ParseRanges parses CIDRs, such as those of a flag.
func ParseRanges(texts []string) ([]netip.Prefix, error) {
	ranges := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		r, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("range %q is not a CIDR such as 10.0.0.0/8", text)
		}
		ranges = append(ranges, r)
	}
	return Canonical(ranges), nil
}

// Canonical converts ranges of IPv4-mapped IPv6 addresses to IPv4, the form in which addresses are compared.
func Canonical(ranges []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, 0, len(ranges))
	for _, r := range ranges {
		if r.Addr().Is4In6() && r.Bits() >= 96 {
			r = netip.PrefixFrom(r.Addr().Unmap(), r.Bits()-96)
		}
		out = append(out, r.Masked())
	}
	return out
}
