// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"net"
	"strings"

	"certrotation.dev/registry/diagnosis"
)

// peerPort is where etcd listens for its peers unless it is told otherwise.
const peerPort = "2380"

// ParsePeers reads peers of a command line: NAME=URL, URL, HOST:PORT or HOST each.
func ParsePeers(texts []string) ([]diagnosis.Member, error) {
	out := make([]diagnosis.Member, 0, len(texts))
	for _, text := range texts {
		name, address, named := strings.Cut(text, "=")
		if !named {
			address = text
		}
		if strings.Contains(address, "://") {
			found := addressesOf(address)
			if len(found) != 1 {
				return nil, fmt.Errorf("peer %q: want NAME=https://HOST:PORT", text)
			}
			address = found[0]
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			address = net.JoinHostPort(strings.Trim(address, "[]"), peerPort)
		}
		if host, _, err := net.SplitHostPort(address); err != nil || host == "" {
			return nil, fmt.Errorf("peer %q: want NAME=https://HOST:PORT, HOST:PORT or HOST", text)
		}
		if !named {
			name = address
		}
		out = append(out, diagnosis.Member{Name: name, Address: address})
	}
	return out, nil
}
