// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"certrotation.dev/controller/dial"
	"certrotation.dev/registry/trust"
)

// resolver resolves a host. *net.Resolver implements it.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Bounds of the endpoints behind one address, and of the name of a process in a record.
const (
	maxEndpoints     = 64
	maxInstanceBytes = 253
)

// resolve returns the endpoints behind the address of a probe, each IP:PORT, sorted. Each counts as a process of its
// own, because which one a connection to the address reaches is random. failure says why there is none.
func (c *Collector) resolve(ctx context.Context, probe *trust.Probe) (endpoints []string, failure string) {
	if probe.Address == "" {
		return nil, cmp.Or(probe.Unknown, "its address is not known")
	}
	host, port, err := net.SplitHostPort(probe.Address)
	if err != nil {
		return nil, fmt.Sprintf("its address %q is no host:port", probe.Address)
	}
	addresses := []netip.Addr{}
	if literal, err := netip.ParseAddr(host); err == nil {
		addresses = append(addresses, literal)
	} else if addresses, err = c.resolver.LookupNetIP(ctx, "ip", host); err != nil {
		c.failures.Count(ctx, err)
		return nil, dial.Told(err)
	}
	for _, address := range addresses {
		endpoints = append(endpoints, net.JoinHostPort(address.Unmap().String(), port))
	}
	slices.Sort(endpoints)
	endpoints = slices.Compact(endpoints)
	switch {
	case len(endpoints) == 0:
		return nil, "its host name " + host + " leads to no address"
	case len(endpoints) > maxEndpoints:
		return nil, fmt.Sprintf("its host name %s leads to more than %d addresses: name them apart, in several members", host, maxEndpoints)
	}
	return endpoints, ""
}

// instance names the process at an endpoint: a pod's process at any address, and the address and endpoint of any
// other member. An empty endpoint means that the address does not resolve.
func (s *subject) instance(probe *trust.Probe, endpoint string) string {
	if s.member.Pod != nil {
		return s.member.Pod.Process
	}
	return instanceOf(probe.Address, endpoint)
}

// instanceOf names the process at an endpoint. The name is the same at each probe.
func instanceOf(address, endpoint string) string {
	name := address
	if endpoint != "" {
		name += "@" + endpoint
	}
	switch {
	case name == "":
		return "no address"
	case len(name) > maxInstanceBytes:
		hash := sha256.Sum256([]byte(name))
		return hex.EncodeToString(hash[:])
	}
	return name
}
