// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"certrotation.dev/test/cluster/nodes"
)

// Ports of a member.
const (
	clientPort  = "2379"
	peerPort    = "2380"
	metricsPort = "9979"
)

// targets are every port of every member, from outside and from each peer, and the API server.
func (s *system) targets() ([]target, error) {
	members := s.Nodes()
	var out []target
	for _, member := range members {
		address := func(port string) string { return net.JoinHostPort(member.IP().String(), port) }
		peers := slices.DeleteFunc(slices.Clone(members), func(n *nodes.Node) bool { return n == member })
		out = append(out,
			target{member.Name() + " client", address(clientPort), member.Name(), perSecond, s.objects.client("etcd-client", "etcd-ca-bundle")},
			target{member.Name() + " peer", address(peerPort), member.Name(), perSecond, inTurn(peers, member)},
			target{member.Name() + " metrics", address(metricsPort), member.Name(), metricsPerSecond, s.objects.client("etcd-metric-client", "etcd-metrics-ca-bundle")},
		)
	}
	config, err := rest.TLSConfigFor(s.Installation.Cluster.AdminConfig())
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	url := s.Installation.Cluster.URL()
	return append(out, target{"API server", url[len("https://"):], "", perSecond, func() (*tls.Config, error) { return config.Clone(), nil }}), nil
}

var runningDirectory = regexp.MustCompile(`/etc/kubernetes/static-pod-resources/(etcd-pod-[0-9]+)\b`)

// material is the directory of the generation that a node's manifest names.
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

// inTurn has each of the peers connect in its turn.
func inTurn(peers []*nodes.Node, to *nodes.Node) func() (*tls.Config, error) {
	var turn atomic.Uint64
	return func() (*tls.Config, error) {
		return asPeer(peers[turn.Add(1)%uint64(len(peers))], to)()
	}
}

// asPeer is the configuration of one member that connects to another: with what is on its own disk.
func asPeer(peer, to *nodes.Node) func() (*tls.Config, error) {
	return func() (*tls.Config, error) {
		dir, err := material(peer)
		if err != nil {
			return nil, err
		}
		// Once, so that the pair is of one generation.
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
