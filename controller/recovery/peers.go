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

	"certrotation.dev/registry/nodepod"
)

// peerPort is etcd's default peer port.
const peerPort = "2380"

// ParsePeers parses peers from a command line, each NAME=URL, URL, HOST:PORT or HOST.
func ParsePeers(texts []string) ([]nodepod.Member, error) {
	out := make([]nodepod.Member, 0, len(texts))
	for _, text := range texts {
		name, address, named := strings.Cut(text, "=")
		if !named {
			address = text
		}
		if strings.Contains(address, "://") {
			found := nodepod.Addresses(address)
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
		out = append(out, nodepod.Member{Name: name, Address: address})
	}
	return out, nil
}

// Verdicts probes the peers and judges whether each peer and a generation accept each other.
func Verdicts(ctx context.Context, g *nodepod.Generation, files nodepod.ListenerFiles, peers []nodepod.Member, timeout time.Duration, now time.Time) ([]nodepod.Verdict, error) {
	sightings, err := Probe(ctx, g, files, peers, timeout)
	if err != nil {
		return nil, err
	}
	verdicts := make([]nodepod.Verdict, 0, len(sightings))
	for i := range sightings {
		verdicts = append(verdicts, nodepod.Judge(g, files, &sightings[i], now))
	}
	return verdicts, nil
}

// ErrPeersUnknown reports that neither flag, manifest nor etcd's data names the peers.
var ErrPeersUnknown = errors.New("it is not known who the peers of this member are: name them with --peers, or say --peers= for a single member")

// PeersOf returns the peers of this member: the given ones, or those in the manifest, or those in the data of a
// stopped etcd. An empty list means a cluster of one.
func PeersOf(d *nodepod.Disk, given []nodepod.Member, dataDirectory string) ([]nodepod.Member, error) {
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
	return slices.DeleteFunc(slices.Clone(members), func(peer nodepod.Member) bool {
		return peer.Name == m.Self || slices.Contains(m.Listens, peer.Address)
	}), nil
}

// usable returns the manifest in use, or else the newest copy of one.
func usable(d *nodepod.Disk) *nodepod.Manifest {
	if d.Manifest.Usable() {
		return &d.Manifest
	}
	for i := range slices.Backward(d.Directories) {
		if m := &d.Directories[i].Manifest; m.Usable() {
			return m
		}
	}
	return &nodepod.Manifest{}
}
