// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"encoding/binary"
	"net/netip"
)

// Ranges of IPv6 addresses that a gateway, or the machine itself, takes for an IPv4 address that is in them.
var (
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// Meanings are an address and the IPv4 addresses that it may stand for.
func Meanings(ip netip.Addr) []netip.Addr {
	zoned := ip.Unmap()
	out := []netip.Addr{zoned}
	ip = zoned.WithZone("")
	if !ip.Is6() {
		return out
	}
	b := ip.As16()
	four := func(x, y, z, w byte) { out = append(out, netip.AddrFrom4([4]byte{x, y, z, w})) }
	// Of a gateway's prefix whose length is not known, zeros are more prefix, or padding.
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
		// Whoever runs the gateway chooses the length of the prefix; byte 8 is passed over (RFC 6052).
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
	// ISATAP: the last half of the address is 0000:5efe or 0200:5efe, and IPv4.
	if id := binary.BigEndian.Uint32(b[8:12]); id == 0x00005efe || id == 0x02005efe {
		four(b[12], b[13], b[14], b[15])
	}
	return out
}
