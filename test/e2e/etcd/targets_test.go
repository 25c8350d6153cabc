// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"certrotation.dev/test/cluster/nodes"
)

// Ports of a member.
const (
	clientPort  = "2379"
	peerPort    = "2380"
	metricsPort = "9979"
)

// targets returns every port of every member, from outside and from each peer, and the API server.
func (s *system) targets() ([]target, error) {
	members := s.Nodes()
	var out []target
	for _, member := range members {
		address := func(port string) string { return net.JoinHostPort(member.IP().String(), port) }
		peers := slices.DeleteFunc(slices.Clone(members), func(n *nodes.Node) bool { return n == member })
		out = append(out,
			target{
				name: member.Name() + " client", member: member.Name(), every: often,
				open: fromHere(address(clientPort), s.objects.volumes.client("etcd-client", "etcd-ca-bundle")),
			},
			target{
				name: member.Name() + " metrics", member: member.Name(), every: seldom,
				open: fromHere(address(metricsPort), s.objects.volumes.client("etcd-metric-client", "etcd-metrics-ca-bundle")),
			},
		)
		for _, peer := range peers {
			out = append(out, target{
				name: peer.Name() + " to peer " + member.Name(), from: peer.Name(), member: member.Name(),
				every: often * time.Duration(len(peers)), open: fromPeer(peer, member),
			})
		}
	}
	config, err := rest.TLSConfigFor(s.Installation.Cluster.AdminConfig())
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	url := strings.TrimPrefix(s.Installation.Cluster.URL(), "https://")
	host, _, err := net.SplitHostPort(url)
	if err != nil {
		return nil, err
	}
	return append(out, target{name: "API server", every: often, open: fromHere(url, func() (*tls.Config, error) {
		config := config.Clone()
		config.ServerName = host
		return config, nil
	})}), nil
}

// gently spreads perSecond connections a second evenly over all targets.
func gently(targets []target, perSecond int) []target {
	for i := range targets {
		targets[i].after = time.Duration(i) * time.Second / time.Duration(perSecond)
		targets[i].every = time.Duration(len(targets)) * time.Second / time.Duration(perSecond)
	}
	return targets
}

// fromHere connects from this machine with the material of a client that starts now.
func fromHere(address string, client func() (*tls.Config, error)) func(context.Context) (net.Conn, *tls.Config, error) {
	return func(ctx context.Context) (net.Conn, *tls.Config, error) {
		config, err := client()
		if err != nil {
			return nil, nil, err
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return conn, config, err
	}
}

var runningDirectory = regexp.MustCompile(`/etc/kubernetes/static-pod-resources/(etcd-pod-[0-9]+)\b`)

// material returns the directory of the current generation of the revision that a node's manifest names.
func material(node *nodes.Node) (string, error) {
	manifest, err := os.ReadFile(node.Path("/etc/kubernetes/manifests/etcd-pod.yaml"))
	if err != nil {
		return "", err
	}
	found := runningDirectory.FindSubmatch(manifest)
	if found == nil {
		return "", errors.New("the manifest mounts no revision")
	}
	return node.Path("/etc/kubernetes/static-pod-resources/" + string(found[1]) + "/current"), nil
}

// fromPeer connects as another member does, from that member's node: etcd compares the address of a peer with its
// certificate.
func fromPeer(peer, to *nodes.Node) func(context.Context) (net.Conn, *tls.Config, error) {
	return func(ctx context.Context) (net.Conn, *tls.Config, error) {
		config, err := asPeer(peer, to)()
		if err != nil {
			return nil, nil, err
		}
		conn, err := peer.Dial(ctx, "tcp", net.JoinHostPort(to.IP().String(), peerPort))
		if err != nil && (!peer.Running() || errors.Is(err, fs.ErrNotExist)) {
			err = errNoClient // The node was powered off meanwhile.
		}
		return conn, config, err
	}
}

// asPeer returns the configuration of one member that connects to another, with the material on its own disk.
func asPeer(peer, to *nodes.Node) func() (*tls.Config, error) {
	return func() (*tls.Config, error) {
		dir, err := material(peer)
		if err != nil {
			return nil, err
		}
		// Resolve the link once, so that certificate and key are of one generation.
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return nil, err
		}
		leaf := filepath.Join(dir, "secrets", "etcd-all-certs", "etcd-peer-"+peer.Name())
		pair, err := tls.LoadX509KeyPair(leaf+".crt", leaf+".key")
		if err != nil {
			return nil, err
		}
		text, err := os.ReadFile(filepath.Join(dir, "configmaps", "etcd-all-bundles", "server-ca-bundle.crt"))
		if err != nil {
			return nil, err
		}
		anchors, err := parseAnchors(text)
		if err != nil {
			return nil, err
		}
		return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: to.IP().String(), Certificates: []tls.Certificate{pair}, RootCAs: poolOf(anchors)}, nil
	}
}
