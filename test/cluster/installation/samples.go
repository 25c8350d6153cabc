// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"certrotation.dev/test/cluster"
)

// Sample is the running sample manifests/samples/mtls-service.
type Sample struct {
	Namespace string
	// Server and Clients are its processes. Clients are by short name.
	Server  *cluster.Process
	Clients map[string]*cluster.Process
	// ServerAddress is the host:port of the TLS listener, and StatsURL the URL of all programs' counters. ControlURL
	// is the URL of each client for POST /hold and /resume.
	ServerAddress, StatsURL string
	ControlURL              map[string]string
}

// sampleClients are the short names of the sample's clients.
var sampleClients = []string{"a", "b"}

// besideTheLeaf is the client that verifies with ca.crt of the Secret with its leaf.
const besideTheLeaf = "b"

// MTLSNamespace is the namespace of the sample mtls-service.
const MTLSNamespace = "mtls-demo"

// Names of the ports of the sample's server.
const (
	mtlsPort  = "mtls-server"
	statsPort = "sample-server"
)

// clientPort returns the name of a client's port.
func clientPort(client string) string { return "sample-client-" + client }

const sampleOverlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- %s
patches:
- target: {kind: RotationConfiguration, name: service}
  patch: |-
    - {op: replace, path: /spec/preset/mtlsService/serverAddresses, value: ["%s"]}
`

// InstallMTLSService applies the sample mtls-service and starts its programs.
func (in *Installation) InstallMTLSService(ctx context.Context) (*Sample, error) {
	var s *Sample
	err := in.onFreePorts(func() (err error) {
		s, err = in.installMTLSService(ctx)
		return err
	})
	return s, err
}

func (in *Installation) installMTLSService(ctx context.Context) (*Sample, error) {
	s := &Sample{Namespace: MTLSNamespace, Clients: map[string]*cluster.Process{}, ControlURL: map[string]string{}}
	port, err := in.Port(mtlsPort)
	if err != nil {
		return nil, err
	}
	s.ServerAddress = fmt.Sprintf("127.0.0.1:%d", port)
	if err := in.applySample(ctx, s); err != nil {
		return nil, err
	}
	for _, client := range sampleClients {
		port, err := in.Port(clientPort(client))
		if err != nil {
			return nil, err
		}
		s.ControlURL[client] = fmt.Sprintf("http://127.0.0.1:%d", port)
	}
	// The server first: a client counts a refused connection as a failure.
	if err := in.startServer(ctx, s); err != nil {
		return nil, err
	}
	for _, client := range sampleClients {
		if err := in.startClient(ctx, s, client); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (in *Installation) applySample(ctx context.Context, s *Sample) error {
	dir := filepath.Join(in.Cluster.Dir(), "manifests", "mtls-service")
	base, err := in.Relative(dir, "manifests/samples/mtls-service")
	if err != nil {
		return err
	}
	if err := in.ApplyOverlay(ctx, dir, map[string]string{"kustomization.yaml": fmt.Sprintf(sampleOverlay, base, s.ServerAddress)}); err != nil {
		return err
	}
	in.say("%-24s applied to namespace %s", "samples/mtls-service", MTLSNamespace)
	return nil
}

// asAccount returns the flags that give a program the rights of its own ServiceAccount.
func (in *Installation) asAccount(name string) ([]string, error) {
	kubeconfig, err := in.serviceAccountKubeconfig(MTLSNamespace, name)
	if err != nil {
		return nil, err
	}
	return []string{"--kubeconfig=" + kubeconfig, "--namespace=" + MTLSNamespace}, nil
}

func (in *Installation) startClient(ctx context.Context, s *Sample, client string) error {
	name := clientPort(client)
	common, err := in.asAccount("client-" + client)
	if err != nil {
		return err
	}
	args := append([]string{
		"client", "--leaf=service-client-" + client, "--party=client-" + client,
		"--server=" + s.ServerAddress, "--server-name=service.mtls-demo.svc",
		"--stats=" + strings.TrimPrefix(s.ControlURL[client], "http://"),
	}, common...)
	if client == besideTheLeaf {
		args = append(args, "--bundle=")
	}
	s.Clients[client], err = in.start(ctx, name, in.Binary("mtls-service"), args, httpReady(s.ControlURL[client]+"/stats"), clientPort(client))
	return err
}

func (in *Installation) startServer(ctx context.Context, s *Sample) error {
	common, err := in.asAccount("server")
	if err != nil {
		return err
	}
	port, err := in.Port(statsPort)
	if err != nil {
		return err
	}
	peers := make([]string, 0, len(s.ControlURL))
	for _, client := range sampleClients {
		peers = append(peers, s.ControlURL[client]+"/stats")
	}
	s.StatsURL = fmt.Sprintf("http://127.0.0.1:%d/stats", port)
	args := append([]string{
		"server", "--leaf=service-server", "--listen=" + s.ServerAddress,
		fmt.Sprintf("--stats=127.0.0.1:%d", port), "--peer-stats=" + strings.Join(peers, ","),
	}, common...)
	s.Server, err = in.start(ctx, "sample-server", in.Binary("mtls-service"), args, func(ctx context.Context) error {
		if err := httpReady(s.StatsURL)(ctx); err != nil {
			return err
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.ServerAddress)
		if err != nil {
			return fmt.Errorf("connect to the sample's server: %w", err)
		}
		return conn.Close()
	}, mtlsPort, statsPort)
	return err
}

// InstallOpenShiftEtcd applies the sample openshift-etcd and its three Nodes, which no kubelet registers.
func (in *Installation) InstallOpenShiftEtcd(ctx context.Context) error {
	sample := filepath.Join(in.root, "manifests", "samples", "openshift-etcd")
	if _, err := in.Kubectl(ctx, "apply", "-f", filepath.Join(sample, "nodes.yaml")); err != nil {
		return err
	}
	if _, err := in.Kubectl(ctx, "apply", "-k", sample); err != nil {
		return err
	}
	in.say("%-24s applied to namespace openshift-etcd, with three nodes", "samples/openshift-etcd")
	return nil
}
