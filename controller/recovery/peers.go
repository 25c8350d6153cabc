// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"certrotation.dev/registry/diagnosis"
	"certrotation.dev/registry/nodedisk"
)

// peerPort is where etcd listens for its peers unless it is told otherwise.
const peerPort = "2380"

// ParsePeers reads peers of a command line: NAME=URL, URL, HOST:PORT or HOST each.
func ParsePeers(texts []string) ([]nodedisk.Member, error) {
	out := make([]nodedisk.Member, 0, len(texts))
	for _, text := range texts {
		name, address, named := strings.Cut(text, "=")
		if !named {
			address = text
		}
		if strings.Contains(address, "://") {
			found := nodedisk.Addresses(address)
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
		out = append(out, nodedisk.Member{Name: name, Address: address})
	}
	return out, nil
}

// Verdicts probes the peers and says what each makes of a generation, and it of them.
func Verdicts(ctx context.Context, g *nodedisk.Generation, files nodedisk.ListenerFiles, peers []nodedisk.Member, timeout time.Duration, now time.Time) ([]diagnosis.Verdict, error) {
	sightings, err := Probe(ctx, g, files, peers, timeout)
	if err != nil {
		return nil, err
	}
	verdicts := make([]diagnosis.Verdict, 0, len(sightings))
	for i := range sightings {
		verdicts = append(verdicts, diagnosis.Judge(g, files, &sightings[i], now))
	}
	return verdicts, nil
}

// ErrPeersUnknown reports that nothing says who the peers are.
var ErrPeersUnknown = errors.New("it is not known who the peers of this member are: name them with --peers, or say --peers= for a single member")

// PeersOf are the peers of this member: those that are given, or those that the manifest names, or those that etcd's data
// knows if etcd does not run. An empty list is a cluster of one.
func PeersOf(d *nodedisk.Disk, given []nodedisk.Member, dataDirectory string) ([]nodedisk.Member, error) {
	if given != nil {
		return given, nil
	}
	m := usable(d)
	members := m.InitialCluster
	if dataDirectory == "" {
		dataDirectory = m.DataDirectory
	}
	if len(members) == 0 && dataDirectory != "" && hasEtcdData(dataDirectory) {
		data, err := openEtcdData(dataDirectory)
		if err != nil {
			return nil, fmt.Errorf("%w (etcd's data would say, but cannot be read: %w)", ErrPeersUnknown, err)
		}
		defer data.Close()
		if members, err = data.members(); err != nil {
			return nil, err
		}
	}
	if len(members) == 0 {
		return nil, ErrPeersUnknown
	}
	return slices.DeleteFunc(slices.Clone(members), func(peer nodedisk.Member) bool {
		return peer.Name == m.Self || slices.Contains(m.Listens, peer.Address)
	}), nil
}

// usable is the manifest in use, or the newest copy of one if there is none.
func usable(d *nodedisk.Disk) *nodedisk.Manifest {
	if d.Manifest.Usable() {
		return &d.Manifest
	}
	for i := range slices.Backward(d.Directories) {
		if m := &d.Directories[i].Manifest; m.Usable() {
			return m
		}
	}
	return &nodedisk.Manifest{}
}
