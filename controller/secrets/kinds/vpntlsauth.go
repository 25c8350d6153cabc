// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"strings"
	"time"
)

// DataKeyVPNTLSAuth is the data key of the key that OpenVPN authenticates packets with.
const DataKeyVPNTLSAuth = "vpn.tlsauth"

// VPNTLSAuthConfig is the key that OpenVPN authenticates packets with.
type VPNTLSAuthConfig struct {
	Name string
	// VPNTLSAuthKeyGenerator makes the key; nil means that Generate makes it.
	VPNTLSAuthKeyGenerator func() ([]byte, error) `hash:"ignore"`
}

// Lines of that key, and hexadecimal digits of a line.
const (
	vpnLines      = 16
	vpnLineDigits = 32
)

// GetName implements Config.
func (c *VPNTLSAuthConfig) GetName() string { return c.Name }

// Generate implements Config.
func (c *VPNTLSAuthConfig) Generate(time.Time) (Data, error) {
	if c.VPNTLSAuthKeyGenerator == nil {
		return Map{DataKeyVPNTLSAuth: vpnKey()}, nil
	}
	key, err := c.VPNTLSAuthKeyGenerator()
	if err != nil {
		return nil, err
	}
	return Map{DataKeyVPNTLSAuth: key}, nil
}

// vpnKey returns a key in the format of `openvpn --genkey`.
func vpnKey() []byte {
	var out strings.Builder
	out.WriteString("-----BEGIN OpenVPN Static key V1-----\n")
	for range vpnLines {
		out.WriteString(random(vpnLineDigits, hexadecimal) + "\n")
	}
	out.WriteString("-----END OpenVPN Static key V1-----")
	return []byte(out.String())
}
