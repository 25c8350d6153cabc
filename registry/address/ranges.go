// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"fmt"
	"net/netip"
)

// ParseRanges reads CIDRs, such as those of a flag.
func ParseRanges(texts []string) ([]netip.Prefix, error) {
	ranges := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		r, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("range %q is no CIDR such as 10.0.0.0/8", text)
		}
		ranges = append(ranges, r)
	}
	return Canonical(ranges), nil
}

// Canonical writes ranges of mapped IPv4 addresses as what they are, because that is how addresses are compared.
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
