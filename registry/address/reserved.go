// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package address

import "net/netip"

// reserved are the ranges of which no machine has an address to itself, and those of the services that a cloud gives to
// each of its machines, which tell credentials to whoever asks.
var reserved = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a metadata service"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a metadata service"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a metadata service"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("fd00:ec2::/64"), "a metadata service"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a metadata service"},
	{netip.MustParsePrefix("fd00:42::42/128"), "a metadata service"},
}

// Reserved says what an address is that no machine has to itself, such as "loopback", "" for any other. An address with a
// zone is one of a link.
func Reserved(ip netip.Addr) string {
	ip = ip.Unmap()
	if !ip.IsValid() {
		return "no address"
	}
	if ip.Zone() != "" {
		return "link-local"
	}
	for i := range reserved {
		if reserved[i].prefix.Contains(ip) {
			return reserved[i].what
		}
	}
	return ""
}
