// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"encoding/binary"
	"net/netip"
)

// reserved are ranges whose addresses do not belong to one machine alone. They include the metadata services of
// clouds, which give credentials to every machine that asks.
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

// Reserved returns the kind of an address that does not belong to one machine alone, such as "loopback", and "" for
// any other. An address with a zone is link-local.
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

// IPv6 ranges that a gateway, or the machine itself, translates to an embedded IPv4 address.
var (
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// Meanings returns an address and the IPv4 addresses that it may stand for.
func Meanings(ip netip.Addr) []netip.Addr {
	zoned := ip.Unmap()
	out := []netip.Addr{zoned}
	ip = zoned.WithZone("")
	if !ip.Is6() {
		return out
	}
	b := ip.As16()
	four := func(x, y, z, w byte) { out = append(out, netip.AddrFrom4([4]byte{x, y, z, w})) }
	// Where the length of the gateway's prefix is unknown, leading zeros belong to the prefix or are padding.
	maybe := func(x, y, z, w byte) {
		if x != 0 {
			four(x, y, z, w)
		}
	}
	switch {
	case ip.IsUnspecified(), ip.IsLoopback():
	case compatible.Contains(ip), translated.Contains(ip), nat64.Contains(ip):
		four(b[12], b[13], b[14], b[15])
	case nat64Local.Contains(ip):
		// The gateway's operator chooses the length of the prefix; byte 8 is skipped (RFC 6052).
		maybe(b[6], b[7], b[9], b[10])
		maybe(b[7], b[9], b[10], b[11])
		maybe(b[9], b[10], b[11], b[12])
		maybe(b[12], b[13], b[14], b[15])
	case sixToFour.Contains(ip):
		four(b[2], b[3], b[4], b[5])
	case teredo.Contains(ip):
		four(b[4], b[5], b[6], b[7])
		four(^b[12], ^b[13], ^b[14], ^b[15])
	}
	// ISATAP: the last half of the address is 0000:5efe or 0200:5efe, then IPv4.
	if id := binary.BigEndian.Uint32(b[8:12]); id == 0x00005efe || id == 0x02005efe {
		four(b[12], b[13], b[14], b[15])
	}
	return out
}
