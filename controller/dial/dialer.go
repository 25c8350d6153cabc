// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	addresses "certrotation.dev/registry/address"
)

// connecting bounds every attempt. An earlier deadline of the caller wins.
const connecting = 30 * time.Second

// Dialer connects to addresses that are not denied. The zero value denies the default ranges of this package.
type Dialer struct {
	allowed, denied []netip.Prefix
}

// New makes a Dialer that also connects to the allowed ranges, and never to the denied ones.
func New(allowed, denied []netip.Prefix) *Dialer {
	return &Dialer{allowed: addresses.Canonical(allowed), denied: addresses.Canonical(denied)}
}

// Refusal is the error for a denied address.
type Refusal struct {
	Address netip.Addr
	// Range is the kind of the address, such as "loopback".
	Range string
}

// Error depends on the address alone: it is the same at each attempt and safe to show.
func (r *Refusal) Error() string {
	return fmt.Sprintf("address %s is not dialled: it is %s", r.Address, r.Range)
}

// DialContext is like that method of net.Dialer. The error for a denied address wraps a Refusal.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: connecting, ControlContext: d.control}
	return dialer.DialContext(ctx, network, address)
}

// control is called with the address that the kernel is about to connect to.
func (d *Dialer) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return fmt.Errorf("dial %s %s: only TCP is dialled", network, address)
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("dial %s: not an address and port", address)
	}
	// An empty host means this machine.
	at := netip.IPv6Unspecified()
	if host != "" {
		if at, err = netip.ParseAddr(host); err != nil {
			return fmt.Errorf("dial %s: not an address and port", address)
		}
	}
	if refusal := d.Judge(at); refusal != nil {
		return refusal
	}
	return nil
}

// Judge is why an address is not dialled, nil if it is.
func (d *Dialer) Judge(address netip.Addr) *Refusal {
	for _, candidate := range addresses.Meanings(address) {
		if what := cmp.Or(d.denies(candidate), d.reserved(candidate)); what != "" {
			return &Refusal{Address: address, Range: what}
		}
	}
	return nil
}

func (d *Dialer) denies(address netip.Addr) string {
	if within(d.denied, address) {
		return "in a range that this installation denies"
	}
	return ""
}

func (d *Dialer) reserved(address netip.Addr) string {
	if within(d.allowed, address) {
		return ""
	}
	return addresses.Reserved(address)
}

func within(ranges []netip.Prefix, address netip.Addr) bool {
	for _, r := range ranges {
		if r.Contains(address.WithZone("")) {
			return true
		}
	}
	return false
}
